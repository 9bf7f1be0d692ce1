//! opscope
fn main() {}

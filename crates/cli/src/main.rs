//! opscope
mod options;

fn main() {}

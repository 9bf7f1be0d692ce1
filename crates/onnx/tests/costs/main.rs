//! Types that follow from those of the inputs, and the costs of operators.

mod by_hand;
mod cases;
mod contents;
mod groups;
mod shapes;
mod table;
#[path = "../reader/wire.rs"]
#[allow(dead_code, reason = "each test takes its share")]
mod wire;

//! What a program asks about a model: its inputs and outputs, their shapes, types and names.

mod attributes;
mod desc;
mod described;
mod dims;
mod gears;
mod names;
mod types;

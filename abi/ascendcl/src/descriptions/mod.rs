//! The description of a model that a program queries: its inputs and outputs, their shapes, types and names.

mod attributes;
mod desc;
mod description;
mod dims;
mod gears;
mod names;
mod types;

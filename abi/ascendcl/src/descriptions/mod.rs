//! The description of a model that a program queries: its inputs and outputs, their shapes, types and names.

mod desc;
mod dims;
mod gears;
mod properties;

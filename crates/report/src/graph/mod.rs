//! The model as a picture: its graph in layers, folded by module.
//!
//! | room | what |
//! |---|---|
//! | `picture` | the drawing: levels within each other |
//! | `layout` | where the members of a level stand |
//! | `tree` | the modules |
//! | `chains` | modules that are too large, divided |
//! | `marks` | what a run says of operators |
//! | `model` | the operators and edges that are drawn |

mod chains;
mod layout;
mod marks;
mod model;
mod picture;
mod tree;

pub(crate) use self::layout::Point;
pub(crate) use self::marks::{Colouring, Marks};
pub(crate) use self::model::{KnownTypes, ModelGraph};
pub(crate) use self::picture::{Drawn, Level, Line, PORT, Picture, What};

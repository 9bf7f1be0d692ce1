//! The drawing of a model: its graph in layers, folded by module.
//!
//! | room | what |
//! |---|---|
//! | `picture` | the drawing: levels inside each other |
//! | `layout` | the positions of a level's members |
//! | `tree` | the modules |
//! | `chains` | modules that are too large, divided |
//! | `marks` | the facts of a run about operators |
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
pub(crate) use self::picture::{Drawn, DrawnKind, Level, Line, PORT, Picture};

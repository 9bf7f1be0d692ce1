//! Puts the events of a trace together: which operator launched a kernel, which module it is in, and to which run it
//! belongs.

mod intake;
mod names;
mod tracks;

pub(crate) use self::intake::{About, Assembler};

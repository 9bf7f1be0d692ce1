//! Puts the events of a trace together: which operator launched a kernel, which module it is in, and to which run it
//! belongs.

mod intake;
mod names;
#[cfg(test)]
mod taken;
mod tracks;

pub(crate) use self::intake::{About, Assembler};
#[cfg(test)]
pub(crate) use self::tracks::TrackOf;

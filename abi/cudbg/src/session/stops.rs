use opscope_debug::{BreakpointId, Moment, RunPosition};
use opscope_model::RunId;

use super::grids::Grid;
use crate::addresses;

/// A run that is stopped at an operator: a warp.
#[derive(Debug, Clone)]
pub struct Stop {
    pub run: RunId,
    /// Where the run is; `None` if it failed and the engine does not know at which operator.
    pub place: Option<RunPosition>,
    pub grid: Option<Grid>,
    /// The thread of the program that the run is on.
    pub thread: u32,
    pub cause: Cause,
    /// The address of its instruction; 0 if it is not known. At a breakpoint on an operator that the engine executes as
    /// part of another one, it is the breakpoint's address, so that clients recognize the breakpoint.
    pub address: u64,
    /// The number of the warp; `None` if all warps are in use.
    pub warp: Option<u32>,
}

/// The reason why a run is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The device is suspended, or the launch is reported.
    Suspended,
    /// A step has ended here.
    Step,
    /// Breakpoints were hit.
    Breakpoint(Vec<BreakpointId>),
    /// The run failed, or computed a NaN or infinity. The value is the text.
    Exception(String),
}

impl Stop {
    /// Returns the address of the instruction that the engine is at; 0 if it is not known.
    pub fn engines_address(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| addresses::operator(place.model, place.operator, place.moment))
    }

    pub fn moment(&self) -> Option<Moment> {
        self.place.as_ref().map(|place| place.moment)
    }

    pub fn has_hit(&self, breakpoint: BreakpointId) -> bool {
        matches!(&self.cause, Cause::Breakpoint(hit) if hit.contains(&breakpoint))
    }

    pub fn is_broken(&self) -> bool {
        matches!(self.cause, Cause::Breakpoint(_))
    }

    /// Returns the text of its exception.
    pub fn exception(&self) -> Option<&str> {
        match &self.cause {
            Cause::Exception(text) => Some(text),
            _ => None,
        }
    }
}

/// The runs by their warps. A run keeps its warp until it ends, or until another run needs a warp while this one is not
/// stopped.
#[derive(Default)]
pub struct Warps(Vec<Option<RunId>>);

/// The largest number of warps.
const MOST_WARPS: usize = 64;

impl Warps {
    /// Returns the warp of a run. Assigns one if it has none. `None` if other stopped runs have all warps.
    pub fn of(&mut self, run: RunId, is_stopped: impl Fn(RunId) -> bool) -> Option<u32> {
        let known = self.0.iter().position(|owner| *owner == Some(run));
        let free = || self.0.iter().position(|owner| owner.is_none_or(|owner| !is_stopped(owner)));
        let warp = match known.or_else(free) {
            Some(warp) => warp,
            None if self.0.len() < MOST_WARPS => {
                self.0.push(None);
                self.0.len() - 1
            }
            None => return None,
        };
        self.0[warp] = Some(run);
        Some(warp as u32)
    }

    /// Frees the warp of a run that has ended.
    pub fn end(&mut self, run: RunId) {
        self.0.iter_mut().filter(|owner| **owner == Some(run)).for_each(|owner| *owner = None);
    }

    /// Returns the number of warps: the largest number of runs that were stopped at the same time so far, and at least
    /// 1.
    pub fn count(&self) -> u32 {
        self.0.len().max(1) as u32
    }
}

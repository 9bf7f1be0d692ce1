use opscope_debug::{BreakpointId, Moment, RunPosition};
use opscope_model::RunId;

use super::grids::Grid;
use crate::addresses;

/// A run that is stopped at an operator: a warp.
#[derive(Debug, Clone)]
pub struct Stop {
    pub run: RunId,
    /// Where the run is; `None` where it failed, and the engine does not know at which operator.
    pub place: Option<RunPosition>,
    pub grid: Option<Grid>,
    /// The thread of the program that the run is on.
    pub thread: u32,
    pub cause: Cause,
    /// The instruction that it is at; 0 if it is not known. At a breakpoint on an operator that the engine executes as a part of
    /// another one, it is the breakpoint's, so that clients find it among those that they have set.
    pub address: u64,
    /// The number of the warp; `None` if there are as many as there can be.
    pub warp: Option<u32>,
}

/// Why it is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The device is suspended, or the launch is reported.
    Suspended,
    /// A step has ended here.
    Step,
    /// Breakpoints were hit.
    Breakpoint(Vec<BreakpointId>),
    /// The run failed, or computed what it should not.
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

/// Which run has which warp. A run keeps its warp until it ends, or another one needs it while it is not stopped.
#[derive(Default)]
pub struct Warps(Vec<Option<RunId>>);

/// How many warps there can be.
const MOST_WARPS: usize = 64;

impl Warps {
    /// Returns the warp of a run; `None` if all warps are those of other runs that are stopped.
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

    /// Takes the warp from a run that has ended.
    pub fn end(&mut self, run: RunId) {
        self.0.iter_mut().filter(|owner| **owner == Some(run)).for_each(|owner| *owner = None);
    }

    /// Returns how many there are: as many as there were runs that were stopped at the same time, and at least one.
    pub fn count(&self) -> u32 {
        self.0.len().max(1) as u32
    }
}

//! The models of the program and the dispatches of their operators, as the client knows them: modules and grids.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use opscope_debug::{ModelId, Moment, RunPosition};
use opscope_model::RunId;

use crate::addresses;
use crate::addresses::Addresses;
use crate::graph::Graph;
use crate::image::{Image, ImageError, listing_directory};
use crate::layout::numbers::GridStatus;

/// A dispatch: one execution of an operator in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Its number. Numbers count up from 1.
    pub id: u64,
    pub model: ModelId,
    pub operator: u32,
    pub run: RunId,
    /// The thread of the program that the run is on.
    pub thread: u32,
}

/// The dispatches that are known so far.
#[derive(Default)]
pub struct Grids {
    last: u64,
    active: HashMap<(RunId, u32), Grid>,
    finished: VecDeque<Grid>,
}

/// How many finished dispatches are kept.
const MOST_FINISHED: usize = 4096;

impl Grids {
    /// Returns the dispatch at a position of a run. A new dispatch gets the next number. After an operator, the
    /// dispatch may have finished already.
    pub fn at(&mut self, place: &RunPosition, thread: u32) -> Grid {
        let is_here = |grid: &&Grid| grid.run == place.run && grid.operator == place.operator;
        if place.moment == Moment::After
            && !self.is_active(place)
            && let Some(grid) = self.finished.iter().rev().find(is_here)
        {
            return *grid;
        }
        self.started(place, thread)
    }

    fn started(&mut self, place: &RunPosition, thread: u32) -> Grid {
        let last = &mut self.last;
        *self.active.entry((place.run, place.operator)).or_insert_with(|| {
            *last += 1;
            Grid { id: *last, model: place.model, operator: place.operator, run: place.run, thread }
        })
    }

    /// Returns whether a dispatch is known to have begun, and not to have finished.
    pub fn is_active(&self, place: &RunPosition) -> bool {
        self.active.contains_key(&(place.run, place.operator))
    }

    /// Notes the end of a dispatch, and returns it.
    pub fn finish(&mut self, place: &RunPosition, thread: u32) -> Grid {
        let grid = self.started(place, thread);
        self.active.remove(&(place.run, place.operator));
        self.keep_finished(grid);
        grid
    }

    /// Notes the end of a run. Its dispatches are then finished.
    pub fn end(&mut self, run: RunId) {
        let mut left: Vec<Grid> = self.active.values().filter(|grid| grid.run == run).copied().collect();
        self.active.retain(|_, grid| grid.run != run);
        left.sort_by_key(|grid| grid.id);
        left.into_iter().for_each(|grid| self.keep_finished(grid));
    }

    /// Returns a dispatch by its number, and its state. Whether it is pending, or its run is stopped after it, is not
    /// known here.
    pub fn find(&self, id: u64) -> Option<(Grid, GridStatus)> {
        let active = self.active.values().find(|grid| grid.id == id).map(|grid| (*grid, GridStatus::Active));
        let finished = || self.finished.iter().find(|grid| grid.id == id).map(|grid| (*grid, GridStatus::Terminated));
        active.or_else(finished)
    }

    /// Returns the newest known number that ends with these 32 bits.
    pub fn widen(&self, low: u32) -> u64 {
        let known = self.active.values().chain(&self.finished).map(|grid| grid.id);
        known.filter(|id| *id as u32 == low).max().unwrap_or(u64::from(low))
    }

    fn keep_finished(&mut self, grid: Grid) {
        if self.finished.len() >= MOST_FINISHED {
            self.finished.pop_front();
        }
        self.finished.push_back(grid);
    }
}

/// A model of the program, and the image that clients read.
pub struct Module {
    pub graph: Graph,
    pub image: Image,
}

impl Module {
    /// Makes the image of a model, which must have its addresses, and writes the listing that the image refers to.
    ///
    /// # Errors
    /// Returns an error if the model is too large for an image.
    pub fn new(graph: Graph, addresses: &Addresses) -> Result<Arc<Self>, ImageError> {
        let image = Image::new(&graph, addresses, listing_directory())?;
        // If the listing cannot be written, names and addresses are still right.
        let _ = image.listing.write();
        Ok(Arc::new(Self { graph, image }))
    }

    /// Returns the address of an operator.
    pub fn entry(&self, operator: u32) -> u64 {
        addresses::operator(self.graph.model, operator, Moment::Before)
    }

    /// Returns the address of an operator by its symbol.
    pub fn address_of(&self, symbol: &str) -> Option<u64> {
        self.image.operator(symbol).map(|operator| self.entry(operator))
    }
}

/// Returns the number of a model for clients. It is the model's context, its module, and the handle of its image.
pub fn handle(model: ModelId) -> u64 {
    u64::from(model.0)
}

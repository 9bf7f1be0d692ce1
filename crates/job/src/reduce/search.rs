//! The smallest set of operators that still fails.

use std::collections::HashSet;

use super::case::Case;
use super::check::Checker;
use super::cut::Cutter;

/// Returns the smallest part of a model that was found to fail in the same way. `place` is the operator at which the
/// whole model fails, if that is known. Returns `None` if no part fails, not even the one with all operators.
pub fn smallest_part(cutter: &mut Cutter, checker: &mut Checker<'_>, place: Option<usize>) -> Option<Case> {
    checker.enter("finding the operators");
    // Declarations may be what fails, and an engine may take integers as inputs only.
    for (keeps_declarations, fixes_integers) in [(false, true), (false, false), (true, true), (true, false)] {
        cutter.set_form(keeps_declarations, fixes_integers);
        let mut search = Search { cutter, checker, tried: HashSet::new() };
        if let Some(start) = search.start(place) {
            let smallest = search.minimise(start);
            return cutter.cut(&smallest);
        }
        if checker.is_over() {
            return None;
        }
    }
    None
}

/// More operators than a window around a place has before all operators are tried.
const LARGEST_WINDOW: usize = 512;

struct Search<'s, 'a> {
    cutter: &'s mut Cutter,
    checker: &'s mut Checker<'a>,
    /// The sets that were tried and do not fail.
    tried: HashSet<Vec<usize>>,
}

impl Search<'_, '_> {
    fn fails(&mut self, places: &[usize]) -> bool {
        let mut places = places.to_vec();
        places.sort_unstable();
        if places.is_empty() || self.checker.is_over() || self.tried.contains(&places) {
            return false;
        }
        let fails = self.cutter.cut(&places).is_some_and(|case| self.checker.fails(&case));
        if !fails {
            self.tried.insert(places);
        }
        fails
    }

    /// Returns a set of operators that fails: the known place alone, with those nearest before it or around it, or all.
    fn start(&mut self, place: Option<usize>) -> Option<Vec<usize>> {
        let all = self.cutter.len();
        if let Some(place) = place {
            let mut most = 1;
            while most < (2 * all).min(LARGEST_WINDOW) && !self.checker.is_over() {
                for is_around in [false, true] {
                    let window = self.cutter.near(place, most, is_around);
                    if self.fails(&window) {
                        return Some(window);
                    }
                }
                most *= 2;
            }
        }
        let everything: Vec<usize> = (0..all).collect();
        self.fails(&everything).then_some(everything)
    }

    /// Removes operators until none of them can be removed alone: delta debugging after Zeller and Hildebrandt.
    fn minimise(&mut self, start: Vec<usize>) -> Vec<usize> {
        let mut kept = start;
        kept.sort_unstable();
        let mut parts = 2;
        while kept.len() > 1 && !self.checker.is_over() {
            parts = parts.min(kept.len());
            let size = kept.len().div_ceil(parts);
            let chunks: Vec<Vec<usize>> = kept.chunks(size).map(<[usize]>::to_vec).collect();
            if let Some(smaller) = chunks.iter().find(|chunk| self.fails(chunk)) {
                kept = smaller.clone();
                parts = 2;
                continue;
            }
            let without = |chunk: &Vec<usize>| kept.iter().copied().filter(|place| !chunk.contains(place)).collect();
            let rests: Vec<Vec<usize>> = chunks.iter().map(without).collect();
            match rests.into_iter().find(|rest| self.fails(rest)) {
                Some(smaller) => {
                    kept = smaller;
                    parts = (parts - 1).max(2);
                }
                None if size == 1 => break,
                None => parts *= 2,
            }
        }
        kept
    }
}

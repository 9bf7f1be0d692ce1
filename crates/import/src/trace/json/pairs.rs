//! Events that come in two parts, a beginning and an end.

use foldhash::HashMap;

use crate::trace::event::Track;

/// The beginnings whose ends have not come yet.
#[derive(Default)]
pub(super) struct Pairs {
    open: HashMap<Track, Vec<Begun>>,
    count: usize,
}

/// A beginning.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub name: String,
    pub category: String,
    pub start: u64,
}

/// The most that may be open. A trace with more is one of which the ends are missing.
const MOST: usize = 1 << 20;

impl Pairs {
    /// Takes a beginning. Returns it if there is no room for it.
    pub fn begin(&mut self, track: Track, begun: Begun) -> Option<Begun> {
        if self.count == MOST {
            return Some(begun);
        }
        self.count += 1;
        self.open.entry(track).or_default().push(begun);
        None
    }

    /// Returns the beginning that an end on this track belongs to: the last one, or the last of this name if it has
    /// one.
    pub fn end(&mut self, track: Track, name: &str) -> Option<Begun> {
        let open = self.open.get_mut(&track)?;
        let place = match name {
            "" => open.len().checked_sub(1),
            _ => open.iter().rposition(|begun| begun.name == name).or(open.len().checked_sub(1)),
        };
        let begun = open.remove(place?);
        self.count -= 1;
        Some(begun)
    }

    /// Returns what never ended.
    pub fn left(&mut self) -> impl Iterator<Item = (Track, Begun)> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().flat_map(|(track, begun)| begun.into_iter().map(move |begun| (track, begun)))
    }
}

use std::collections::HashMap;

/// Separates the spans of a thread that are nested or disjoint, which a timeline can show in one row, from those that
/// cross others. Spans may cross, because a program can end its ranges in any order. All times are nanoseconds since
/// boot.
#[derive(Default)]
pub(crate) struct Nesting {
    /// The outermost spans of every thread so far, which are disjoint.
    threads: HashMap<u32, Vec<Outermost>>,
}

#[derive(Debug, Clone, Copy)]
struct Outermost {
    start: u64,
    /// The moment at which it is shown to begin.
    shown: u64,
    end: u64,
}

/// The number of outermost spans that are stored per thread, so that memory does not grow with the number of runs.
const REMEMBERED: usize = 1024;

impl Nesting {
    /// Takes the next span that ended on a thread, and returns the moment at which the row shows its beginning. If the
    /// span begins together with a span inside it, this is a nanosecond earlier, because a row shows the span that
    /// begins first as the outer one. Returns `None` for a span that does not fit into the row. Such a span is not
    /// stored.
    pub(crate) fn place(&mut self, thread: u32, (start, end): (u64, u64)) -> Option<u64> {
        let ended = self.threads.entry(thread).or_default();
        let beside = ended.partition_point(|earlier| earlier.start < start);
        let shown = ended.get(beside).map_or(start, |within| start.min(within.shown.saturating_sub(1)));
        if beside > 0 && ended[beside - 1].end > shown {
            return None;
        }
        // The remaining spans are within it.
        ended.truncate(beside);
        if ended.len() == REMEMBERED {
            ended.drain(..REMEMBERED / 2);
        }
        ended.push(Outermost { start, shown, end });
        Some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_around_and_beside_others_fit_and_those_that_cross_do_not() {
        let mut nesting = Nesting::default();
        let mut fits = |start, end| nesting.place(1, (start, end)) == Some(start);
        assert!(fits(10, 20) && fits(20, 30) && fits(40, 50));
        assert!(!fits(45, 60), "it begins within another and ends after it");
        assert!(fits(5, 60) && fits(0, 70), "around all of them");
        assert!(!fits(69, 80));
        assert!(fits(70, 80) && fits(90, 95));
        assert!(nesting.place(2, (69, 80)).is_some(), "another thread");
    }

    #[test]
    fn spans_that_begin_at_once_are_shown_around_each_other() {
        let mut nesting = Nesting::default();
        assert_eq!(nesting.place(1, (0, 50)), Some(0));
        assert_eq!(nesting.place(1, (100, 110)), Some(100));
        assert_eq!(nesting.place(1, (100, 120)), Some(99));
        assert_eq!(nesting.place(1, (100, 120)), Some(98));
        assert_eq!(nesting.place(1, (120, 130)), Some(120));
        assert_eq!(nesting.place(1, (120, 140)), None, "there is no room before it");
    }

    #[test]
    fn a_range_around_more_spans_than_are_remembered_fits() {
        let mut nesting = Nesting::default();
        assert!((0..5_000).all(|index| nesting.place(1, (10 * index + 1, 10 * index + 9)).is_some()));
        assert_eq!(nesting.place(1, (49_995, 50_010)), None);
        assert!(nesting.threads[&1].len() <= REMEMBERED);
        assert_eq!(nesting.place(1, (0, 50_000)), Some(0));
    }
}

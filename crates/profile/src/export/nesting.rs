use std::collections::HashMap;

use crate::recording::Span;

/// Tells the spans of a thread that lie around or beside each other, as a timeline shows them in one row, from those that
/// cross: a program may end its ranges in any order.
#[derive(Default)]
pub(crate) struct Nesting {
    /// The outermost spans so far of every thread; they lie beside each other.
    threads: HashMap<u32, Vec<Span>>,
}

/// So many outermost spans of a thread are remembered: memory does not grow with the number of runs.
const REMEMBERED: usize = 1024;

impl Nesting {
    /// Takes the next span that ended on a thread. Says whether it fits into the thread's row; one that does not is
    /// forgotten.
    pub(crate) fn fits(&mut self, thread: u32, span: Span) -> bool {
        let ended = self.threads.entry(thread).or_default();
        let beside = ended.partition_point(|earlier| earlier.start < span.start);
        let fits = beside == 0 || ended[beside - 1].end <= span.start;
        if fits {
            // The others lie within it.
            ended.truncate(beside);
            if ended.len() == REMEMBERED {
                ended.drain(..REMEMBERED / 2);
            }
            ended.push(span);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use opscope_clock::Ticks;

    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span { start: Ticks::from_raw(start), end: Ticks::from_raw(end) }
    }

    #[test]
    fn spans_around_and_beside_others_fit_and_those_that_cross_do_not() {
        let mut nesting = Nesting::default();
        let mut fits = |start, end| nesting.fits(1, span(start, end));
        assert!(fits(10, 20) && fits(20, 30) && fits(40, 50));
        assert!(!fits(45, 60), "it begins within another and ends after it");
        assert!(fits(5, 60) && fits(0, 70), "around all of them");
        assert!(!fits(69, 80));
        assert!(fits(70, 80) && fits(90, 95));
        assert!(nesting.fits(2, span(69, 80)), "another thread");
    }

    #[test]
    fn a_range_around_more_spans_than_are_remembered_fits() {
        let mut nesting = Nesting::default();
        assert!((0..5_000).all(|index| nesting.fits(1, span(10 * index + 1, 10 * index + 9))));
        assert!(!nesting.fits(1, span(49_995, 50_010)));
        assert!(nesting.threads[&1].len() <= REMEMBERED);
        assert!(nesting.fits(1, span(0, 50_000)));
    }
}

use super::fact::{DispatchFact, Span};

/// Returns the own time of each dispatch of a run, which excludes the time of dispatches in its body. So no time counts
/// twice.
///
/// `dispatches` are in the order of a [`RunGroup`](super::RunGroup); `time` measures a span, in any unit.
pub(crate) fn own_times(dispatches: &[DispatchFact], time: impl Fn(Span) -> f64) -> Vec<f64> {
    let mut own: Vec<f64> = dispatches.iter().map(|dispatch| time(dispatch.span)).collect();
    // The last dispatch, and those around it, outermost first.
    let mut around: Vec<usize> = Vec::new();
    for (index, dispatch) in dispatches.iter().enumerate() {
        around.retain(|&outer| is_around(&dispatches[outer], dispatch));
        if let Some(&body) = around.last() {
            own[body] = (own[body] - time(dispatch.span)).max(0.0);
        }
        around.push(index);
    }
    own
}

/// Returns whether `inner` was executed in a body of `outer`, or of an operator in it.
fn is_around(outer: &DispatchFact, inner: &DispatchFact) -> bool {
    outer.path.len() < inner.path.len()
        && inner.path.starts_with(&outer.path)
        && outer.span.start <= inner.span.start
        && inner.span.end <= outer.span.end
}

#[cfg(test)]
mod tests {
    use opscope_clock::Ticks;
    use opscope_model::Iteration;
    use opscope_onnx::OperatorId;
    use opscope_trace::Correlation;

    use super::*;

    /// The begin and end of a dispatch, and its path: operators and iterations.
    type Dispatch<'a> = (u64, u64, &'a [(u32, u32)]);

    fn own(dispatches: &[Dispatch<'_>]) -> Vec<f64> {
        let level = |&(operator, index): &(u32, u32)| Iteration { operator: OperatorId::new(operator), index };
        let fact = |(start, end, path): &Dispatch<'_>| DispatchFact {
            run: 0,
            plan: 0,
            kernel: 0,
            thread: 1,
            span: Span { start: Ticks::from_raw(*start), end: Ticks::from_raw(*end) },
            correlation: Correlation::default(),
            path: path.iter().map(level).collect(),
        };
        let facts: Vec<DispatchFact> = dispatches.iter().map(fact).collect();
        own_times(&facts, |span| (span.end.as_raw() - span.start.as_raw()) as f64)
    }

    #[test]
    fn the_time_of_a_body_is_not_that_of_the_operator_around_it() {
        let nested = own(&[
            (0, 100, &[]),
            (10, 60, &[(0, 0)]),
            (20, 30, &[(0, 0), (1, 0)]),
            (40, 50, &[(0, 0), (1, 1)]),
            (70, 80, &[(0, 1)]),
            (100, 120, &[]),
        ]);
        assert_eq!(nested, [40.0, 30.0, 10.0, 10.0, 10.0, 20.0]);
    }

    #[test]
    fn a_body_whose_operator_has_no_time_takes_none_from_others() {
        assert_eq!(own(&[(0, 10, &[]), (10, 20, &[(1, 0)]), (20, 30, &[(1, 0), (2, 0)])]), [10.0; 3]);
        assert_eq!(own(&[(0, 30, &[(1, 0)]), (10, 20, &[(1, 1), (2, 0)])]), [30.0, 10.0], "another iteration");
    }

    #[test]
    fn times_that_are_rounded_leave_no_operator_below_zero() {
        assert_eq!(own(&[(0, 1, &[]), (0, 1, &[(0, 0)]), (0, 1, &[(0, 1)])]), [0.0, 1.0, 1.0]);
    }
}

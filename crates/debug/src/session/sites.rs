use std::sync::Arc;

use opscope_onnx::Graph;

use crate::breakpoint::{Breakpoint, BreakpointInfo, BreakpointLocation, OperatorMapping};
use crate::event::ModelId;
use crate::run::PlanInfo;

/// A model in which breakpoints can lie, and its newest plan.
pub(crate) struct Site {
    pub model: ModelId,
    pub graph: Arc<Graph>,
    pub plan: Option<Arc<PlanInfo>>,
}

/// Describes a breakpoint for its client, with at most `most` locations in each model.
pub(super) fn describe(breakpoint: &Breakpoint, sites: &[Site], most: usize) -> BreakpointInfo {
    let mut locations = Vec::new();
    for Site { model, graph, plan } in sites {
        for &operator in breakpoint.operators(*model, graph).iter().take(most) {
            locations.push(BreakpointLocation {
                model: *model,
                operator: operator.index() as u32,
                name: graph.operator(operator).name.clone(),
                mapping: plan.as_ref().map_or(OperatorMapping::Pending, |plan| plan.mapping(operator)),
            });
        }
    }
    breakpoint.info(locations)
}

/// Returns how many locations in each model are listed for each of this many breakpoints, so that an answer fits into a
/// frame.
pub(super) fn most_locations(breakpoints: usize) -> usize {
    (16_000 / breakpoints.max(1)).clamp(16, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_breakpoints_there_are_the_fewer_locations_of_each_are_listed() {
        for (breakpoints, most) in [(0, 1000), (1, 1000), (16, 1000), (17, 941), (100, 160), (1000, 16), (5000, 16)] {
            assert_eq!(most_locations(breakpoints), most, "{breakpoints} breakpoints");
        }
    }
}

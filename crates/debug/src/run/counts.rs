use std::collections::BTreeMap;

use opscope_onnx::OperatorId;
use opscope_tensor::{Detail, ScanQuery, ScanResult, TensorView};

/// The numbers of elements that are NaN and infinite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub nan: u64,
    pub infinite: u64,
}

/// The counts in those outputs of a run's operators that were searched.
pub(crate) type SeenCounts = BTreeMap<OperatorId, Counts>;

impl Counts {
    pub fn and(self, other: Self) -> Self {
        Self { nan: self.nan + other.nan, infinite: self.infinite + other.infinite }
    }

    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// Counts the elements that are NaN and infinite. Returns `None` if there are none, and for tensors without a byte
/// form.
pub(super) fn count_non_finite(view: &TensorView<'_>) -> Option<Counts> {
    search(view, Detail::Presence)?;
    search(view, Detail::Count)
}

/// Searches a tensor in this detail. Returns `None` if all elements are finite, and for tensors without a byte form.
pub(super) fn search(view: &TensorView<'_>, detail: Detail) -> Option<Counts> {
    let query = ScanQuery { nan: detail, infinite: detail, ..ScanQuery::default() };
    let found = ScanResult::of(view, query).ok()?;
    Some(Counts { nan: found.nan, infinite: found.infinite }).filter(|counts| !counts.is_zero())
}

use std::ffi::c_char;
use std::ptr;
use std::sync::LazyLock;

use opscope::trace::{Kind, Operation, wanted};

use crate::border::{Failure, Text};

/// The kinds of opscope's own records, whose category is `OPSCOPE_CATEGORY`. `docs/records.md` describes them all.
#[repr(C)]
pub enum opscope_kind_t {
    /// One execution of one kernel: an `opscope_dispatch_record_t`.
    OPSCOPE_OPERATOR_DISPATCH = 1,
    /// One run: an `opscope_run_record_t`.
    OPSCOPE_RUN = 2,
    /// A copy of inputs or outputs: an `opscope_copy_record_t`.
    OPSCOPE_TENSOR_COPY = 3,
    /// Memory that the engine holds for a tensor: an `opscope_allocation_record_t`.
    OPSCOPE_TENSOR_ALLOCATION = 4,
    /// A mark or a range: an `opscope_marker_record_t`.
    OPSCOPE_MARKER = 5,
    /// The value of a counter: an `opscope_counter_record_t`.
    OPSCOPE_COUNTER = 6,
    /// A call of the engine: an `opscope_engine_call_record_t`.
    OPSCOPE_ENGINE_CALL = 7,
    /// A correlation id ended: an `opscope_retirement_record_t`.
    OPSCOPE_CORRELATION_RETIREMENT = 8,
}

/// The category of opscope's own records. Programs use the others, 2 to 255, for records of their own.
pub const OPSCOPE_CATEGORY: u8 = 1;

/// Returns the name of a kind, such as "operator_dispatch"; NULL for a number that is no kind. The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_kind_name(kind: u16) -> *const c_char {
    names(kind).map_or(ptr::null(), |names| names.kind.as_ptr())
}

/// Returns the name of an operation of a kind, such as "host_to_device"; NULL for a number that is none. The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_operation_name(kind: u16, operation: u32) -> *const c_char {
    let found = names(kind).and_then(|names| names.operations.iter().find(|(number, _)| *number == operation));
    found.map_or(ptr::null(), |(_, name)| name.as_ptr())
}

/// Returns 1 if a started context traces this kind, else 0. It costs a load and a branch.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_kind_wanted(kind: u16) -> i32 {
    i32::from(Kind::from_raw(kind).is_some_and(wanted))
}

/// Returns the kind with this number.
pub(super) fn kind_of(number: u16) -> Result<Kind, Failure> {
    Kind::from_raw(number).ok_or_else(|| {
        Failure::argument(format!("{number} is no kind of records; OPSCOPE_OPERATOR_DISPATCH is 1, for example"))
    })
}

struct Names {
    kind: Text,
    operations: Vec<(u32, Text)>,
}

fn names(kind: u16) -> Option<&'static Names> {
    static NAMES: LazyLock<Vec<(Kind, Names)>> = LazyLock::new(|| {
        let operation = |(operation, name): (Operation, &str)| (operation.0, Text::new(name));
        let names =
            |kind: Kind| Names { kind: Text::new(kind.name()), operations: kind.operations().map(operation).collect() };
        Kind::all().map(|kind| (kind, names(kind))).collect()
    });
    NAMES.iter().find(|(named, _)| named.as_raw() == kind).map(|(_, names)| names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_constant() {
        use opscope_kind_t::*;
        let constants = [
            (OPSCOPE_OPERATOR_DISPATCH as u16, Kind::OperatorDispatch),
            (OPSCOPE_RUN as u16, Kind::Run),
            (OPSCOPE_TENSOR_COPY as u16, Kind::TensorCopy),
            (OPSCOPE_TENSOR_ALLOCATION as u16, Kind::TensorAllocation),
            (OPSCOPE_MARKER as u16, Kind::Marker),
            (OPSCOPE_COUNTER as u16, Kind::Counter),
            (OPSCOPE_ENGINE_CALL as u16, Kind::EngineCall),
            (OPSCOPE_CORRELATION_RETIREMENT as u16, Kind::CorrelationRetirement),
        ];
        assert_eq!(constants.len(), Kind::COUNT);
        constants.iter().for_each(|(constant, kind)| assert_eq!(*constant, kind.as_raw(), "{kind}"));
    }
}

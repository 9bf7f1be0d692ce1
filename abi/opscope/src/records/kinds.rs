use std::ffi::c_char;
use std::ptr;
use std::sync::LazyLock;

use opscope::trace::{Kind, Operation, wanted};
use opscope_border::exported;

use crate::border::{Failure, KeptText};

/// The category of opscope's own records. Programs use the others, 2 to 255, for their own records.
pub const OPSCOPE_CATEGORY: u8 = 1;

/// Returns the name of a kind, such as "operator_dispatch"; NULL for any other number. The text is static.
#[exported]
pub fn opscope_kind_name(kind: u16) -> *const c_char {
    names(kind).map_or(ptr::null(), |names| names.kind.as_ptr())
}

/// Returns the name of an operation of a kind, such as "host_to_device"; NULL for any other number. The text is static.
#[exported]
pub fn opscope_operation_name(kind: u16, operation: u32) -> *const c_char {
    let found = names(kind).and_then(|names| names.operations.iter().find(|(number, _)| *number == operation));
    found.map_or(ptr::null(), |(_, name)| name.as_ptr())
}

/// Returns 1 if a started context traces this kind, else 0. It costs a load and a branch.
#[exported]
pub fn opscope_kind_wanted(kind: u16) -> i32 {
    i32::from(Kind::from_raw(kind).is_some_and(wanted))
}

/// Returns the kind with this number.
pub(super) fn kind_of(number: u16) -> Result<Kind, Failure> {
    Kind::from_raw(number).ok_or_else(|| {
        Failure::argument(format!("{number} is not a kind of records; OPSCOPE_OPERATOR_DISPATCH is 1, for example"))
    })
}

struct Names {
    kind: KeptText,
    operations: Vec<(u32, KeptText)>,
}

fn names(kind: u16) -> Option<&'static Names> {
    static NAMES: LazyLock<Vec<(Kind, Names)>> = LazyLock::new(|| {
        let operation = |(operation, name): (Operation, &str)| (operation.0, KeptText::new(name));
        let names = |kind: Kind| Names {
            kind: KeptText::new(kind.name()),
            operations: kind.operations().map(operation).collect(),
        };
        Kind::all().map(|kind| (kind, names(kind))).collect()
    });
    NAMES.iter().find(|(named, _)| named.as_raw() == kind).map(|(_, names)| names)
}

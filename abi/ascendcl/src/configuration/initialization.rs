use crate::border::{Failure, codes};
use crate::forks::Shared;

/// How often the library was initialized.
#[derive(Default)]
pub struct Initialized {
    /// How many calls of `aclInit` have not been undone.
    pub count: u64,
    /// The content of the first call's file.
    pub first: Option<Vec<u8>>,
}

pub static INITIALIZED: Shared<Initialized> =
    Shared::new(Initialized { count: 0, first: None }, || INITIALIZED.held(|_| {}));

/// Checks that `aclInit` was called.
pub fn check_initialized() -> Result<(), Failure> {
    if INITIALIZED.read().count > 0 { Ok(()) } else { Err(not_initialized(codes::UNINITIALIZE)) }
}

/// Returns the failure, with this code, of a call that needs `aclInit`.
pub fn not_initialized(code: i32) -> Failure {
    Failure::new(code, "EP0008", "aclInit was not called, or aclFinalize was since")
}

//! The exported functions.

use std::ffi::c_int;
use std::hint::black_box;

use opscope_border::{Out, exported};

use crate::border::Failure;
use crate::globals;
use crate::pipes::{self, Served};
use crate::table::{TABLE, Table};
use crate::version::{MAJOR, MINOR, REVISION, request};

/// Writes a pointer to the table for a client of this version.
#[exported]
pub fn cudbgGetAPI(_major: u32, _minor: u32, revision: u32, table: Out<'_, *const Table>) -> Result<(), Failure> {
    give_table(revision, table)
}

/// Writes the version of the table.
#[exported]
pub fn cudbgGetAPIVersion(major: Out<'_, u32>, minor: Out<'_, u32>, revision: Out<'_, u32>) -> Result<(), Failure> {
    give_version([major, minor, revision])
}

/// The function to which NVIDIA's `libcuda.so.1` forwards calls of `cudbgGetAPI`.
#[exported]
pub fn GetCUDADebuggerAPI(
    _major: u32,
    _minor: u32,
    revision: u32,
    table: Out<'_, *const Table>,
) -> Result<(), Failure> {
    give_table(revision, table)
}

/// The function to which NVIDIA's `libcuda.so.1` forwards calls of `cudbgGetAPIVersion`.
#[exported]
pub fn GetCUDADebuggerAPIVersion(
    major: Out<'_, u32>,
    minor: Out<'_, u32>,
    revision: Out<'_, u32>,
) -> Result<(), Failure> {
    give_version([major, minor, revision])
}

// The exported functions do not call each other. In a process with a libcuda.so.1, the linker may resolve the name to
// the function of that library.

fn give_table(revision: u32, table: Out<'_, *const Table>) -> Result<(), Failure> {
    let table = table.place("the place for the table")?;
    request(revision)?;
    table.write(&raw const TABLE);
    Ok(())
}

fn give_version([major, minor, revision]: [Out<'_, u32>; 3]) -> Result<(), Failure> {
    let places = [major.place("major")?, minor.place("minor")?, revision.place("revision")?];
    places.into_iter().zip([MAJOR, MINOR, REVISION]).for_each(|(place, number)| place.write(number));
    Ok(())
}

/// Called by NVIDIA's driver in a process that is to be debugged. This only sets a variable, because models are
/// debugged through the debug server.
#[exported]
pub fn InitializeInjection() -> c_int {
    globals::note_injection();
    1
}

/// Called by a debugger in a process that it attaches to. The process must then run, while events report what exists
/// already.
#[exported]
pub fn cudbgApiAttach() {
    globals::note_attachment();
}

/// Called by a debugger in a process that it detaches from. The process must then run until an event reports the end.
#[exported]
pub fn cudbgApiDetach() {
    globals::note_attachment();
}

/// The entry point of a debug engine in a process of its own: the server for a debugger that communicates over named
/// pipes. Returns when the session is over. `write_fd`, if it is larger than 2, is a descriptor that receives one byte
/// when the debugger can be served.
#[exported]
#[allow(clippy::too_many_arguments)]
pub fn cudbgMain(
    client_pid: c_int,
    client_revision: u32,
    session: c_int,
    attach_state: c_int,
    _attach_event_initialized: c_int,
    write_fd: c_int,
    _detach_fd: c_int,
    _attach_stub_in_use: c_int,
    _enable_preemption: c_int,
) -> Result<(), Failure> {
    pipes::serve(Served {
        debugger: client_pid,
        revision: client_revision,
        session,
        is_attached: attach_state != 0,
        tell: write_fd,
    })
}

/// Defines functions that do nothing. A client sets breakpoints on some of them, so each one has an address of its own.
macro_rules! empty {
    ($( $function:ident ( $($argument:ident: $type:ty)? ) $number:literal )*) => {
        $(
            #[doc = "Does nothing."]
            #[inline(never)]
            #[exported]
            pub fn $function($($argument: $type)?) {
                black_box($number);
            }
        )*
    };
}

empty! {
    cudbgApiInit(_attach: u32) 1
    cudbgReportDriverApiError() 2
    cudbgReportDriverInternalError() 3
    cudbgReportAttachProcedureFinished() 4
    cudbgPreInit() 5
}

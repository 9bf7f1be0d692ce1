//! The exported functions.

use std::ffi::c_int;
use std::hint::black_box;

use opscope_border::{Out, exported};

use crate::border::Failure;
use crate::globals;
use crate::pipes::{self, Served};
use crate::table::{TABLE, Table};
use crate::version::{MAJOR, MINOR, REVISION, request};

/// Returns the table for a client that was made for this version.
#[exported]
pub fn cudbgGetAPI(_major: u32, _minor: u32, revision: u32, table: Out<'_, *const Table>) -> Result<(), Failure> {
    give_table(revision, table)
}

/// Returns the version of the table.
#[exported]
pub fn cudbgGetAPIVersion(major: Out<'_, u32>, minor: Out<'_, u32>, revision: Out<'_, u32>) -> Result<(), Failure> {
    give_version([major, minor, revision])
}

/// What NVIDIA's `libcuda.so.1` forwards `cudbgGetAPI` to.
#[exported]
pub fn GetCUDADebuggerAPI(
    _major: u32,
    _minor: u32,
    revision: u32,
    table: Out<'_, *const Table>,
) -> Result<(), Failure> {
    give_table(revision, table)
}

/// What NVIDIA's `libcuda.so.1` forwards `cudbgGetAPIVersion` to.
#[exported]
pub fn GetCUDADebuggerAPIVersion(
    major: Out<'_, u32>,
    minor: Out<'_, u32>,
    revision: Out<'_, u32>,
) -> Result<(), Failure> {
    give_version([major, minor, revision])
}

// The exported functions do not call each other: in a process with a libcuda.so.1, the linker may give its function for the name.

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

/// Called by NVIDIA's driver in a process that is to be debugged. Nothing more has to be done there: a model is debugged through
/// its debug server.
#[exported]
pub fn InitializeInjection() -> c_int {
    globals::note_injection();
    1
}

/// Called by a debugger in a process that it attaches to: events tell it of what is there already, while the process runs.
#[exported]
pub fn cudbgApiAttach() {
    globals::note_attachment();
}

/// Called by a debugger in a process that it detaches from: an event tells it of the end, while the process runs.
#[exported]
pub fn cudbgApiDetach() {
    globals::note_attachment();
}

/// The entry of an engine in a process of its own: the server for a debugger that speaks over named pipes. It returns when the session
/// is over. `write_fd`, if it is not negative, is a descriptor that gets one byte when the debugger can be served.
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

/// Functions that do nothing. A client sets breakpoints on some of them, so each one has an address of its own.
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

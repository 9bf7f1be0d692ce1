//! The life of tools: they are found and initialized when the first runtime or producer registers itself, and finalized
//! when the process exits.

mod clients;
mod finalize;
mod find;
#[allow(unsafe_code, reason = "it is assembler")]
mod linked_tool;

use std::any::Any;
use std::ffi::c_int;

use opscope_border::{Answer, Text, exported, system};
use opscope_producer::OfferedTable;
use opscope_producer::layout::{OPSCOPE_TOOL_NOT_MINE, OPSCOPE_TOOL_TAKEN, OPSCOPE_TOOL_TOO_LATE};
use opscope_trace::{ForkRoom, HeldLocks};

use crate::border::{Status, say};
use crate::buffers::default_thread;
use crate::layout::Configure;
use crate::markers::RuntimeTables;
use crate::phase::{DONE, NOT_YET, begin_initialization, end_initialization, initialization};
use crate::{buffers, contexts, correlation, exit, markers, producer, services};
use finalize::{finalize_at_exit, finalize_client, leave_out};

/// Called by a runtime that initializes itself, with the tables of its functions. This library knows "roctx", with
/// three tables, and "opscope", with the table of a producer. It wraps none of AMD's other runtimes. Returns 0 or a
/// status.
#[exported]
pub fn rocprofiler_set_api_table(
    name: Text<'_>,
    version: u64,
    instance: u64,
    #[counted_by(count)] tables: RuntimeTables<'_>,
    count: u64,
) -> c_int {
    let status = Answer::answer(|| {
        let name = name.c_str("name")?;
        if tables.count() == 0 {
            return Err(Status::InvalidArgument);
        }
        match name.to_bytes() {
            b"roctx" => {
                let tables = markers::Tables::new(version, instance, &tables)?;
                if initialize() {
                    tables.register()
                } else {
                    tables.register_later()
                }
                Ok(())
            }
            b"opscope" => {
                if attach(tables.producer()) == 0 {
                    Ok(())
                } else {
                    Err(Status::IncompatibleAbi)
                }
            }
            // Runtimes whose calls are not traced here. They continue as they would without a tool.
            b"hsa" | b"hip" | b"hip_compiler" | b"rccl" | b"rocdecode" | b"rocjpeg" => {
                initialize();
                Ok(())
            }
            _ => Err(Status::InvalidArgument),
        }
    });
    status as c_int
}

/// Called by a producer, with its table of callbacks. Without a tool none of them is set, so that runs cost nothing.
#[exported]
pub fn opscope_attach_producer(table: OfferedTable<'_>) -> c_int {
    attach(table)
}

/// Returned to a producer that named a tool which could not be loaded.
const TOOL_MISSING: c_int = 1;

fn attach(table: OfferedTable<'_>) -> c_int {
    let attached = producer::attach(table);
    if attached == 0 && (initialization() != NOT_YET || find::is_any_present()) && initialize() {
        producer::connect_all();
    }
    // This producer's user asked for that tool.
    if find::is_named_missing() { TOOL_MISSING } else { attached }
}

/// Called by a producer before it attaches itself, with the path of a tool that its user named. Returns whether this
/// library will load the tool.
#[exported]
pub fn opscope_use_tool(path: Text<'_>) -> c_int {
    let mut answer = OPSCOPE_TOOL_NOT_MINE;
    Answer::answer(|| -> Result<(), Status> {
        let path = path.c_str("path")?;
        if find::is_tool(path) {
            answer = if initialization() == NOT_YET { OPSCOPE_TOOL_TAKEN } else { OPSCOPE_TOOL_TOO_LATE };
        }
        if answer == OPSCOPE_TOOL_TAKEN {
            find::add(path.to_owned());
        }
        Ok(())
    });
    answer
}

/// Initializes the library immediately, with this function as the first tool's.
#[exported]
pub fn rocprofiler_force_configure(configure: Option<Configure>) -> Result<(), Status> {
    if initialization() != NOT_YET {
        return Err(Status::ConfigurationLocked);
    }
    system::set_variable(c"ROCPROFILER_REGISTER_FORCE_LOAD", c"1");
    if initialize_with(configure) { Ok(()) } else { Err(Status::ConfigurationLocked) }
}

/// Finds the tools and initializes them, once. Returns whether that is complete. Returns `false` to a thread that calls
/// this meanwhile, such as one that a tool waits for; what that thread registers is handled at the end.
pub fn initialize() -> bool {
    initialize_with(None) || initialization() == DONE
}

/// Initializes the tools, with this one as the first. Returns whether this call did it, rather than an earlier one.
pub fn initialize_with(forced: Option<Configure>) -> bool {
    if !begin_initialization() {
        return false;
    }
    prepare_exit();
    hold_locks_across_forks();
    find::make_own_functions_visible();
    for (number, tool) in find::all(forced).into_iter().enumerate() {
        clients::configure(tool, number);
    }
    clients::initialize_all(finalize_client, leave_out);
    // A process whose tools request nothing gets no thread: some tools only look, and rely on that.
    if !clients::lock().is_empty() && default_thread().start().is_err() {
        say("the system refuses a thread for callbacks; records wait until it grants one");
    }
    services::freeze();
    contexts::on_change(contexts_changed);
    contexts_changed();
    end_initialization();
    markers::register_waiting();
    producer::connect_all();
    // This is done again, because the tools that were loaded have created objects by now.
    exit::finalize_earlier();
    true
}

/// Reacts when a context was started or stopped.
fn contexts_changed() {
    services::find_direct();
    producer::update_all();
}

/// Registers the finalization of the tools at the exit, before their buffers are destroyed.
fn prepare_exit() {
    // Without memory for this, tools are not finalized at the exit.
    if opscope_trace::register_process_events().is_err() || !exit::finalize_by(finalize_at_exit) {
        say("tools will not be finalized: the system has no memory for it");
    }
}

/// The guards of this library's locks during a fork. Without them, the child could find a lock held by a thread that it
/// does not have. No thread holds two of these locks at once.
struct Locks {
    /// Kept only to be dropped.
    locks: Vec<Box<dyn Any>>,
    /// Whether the forking thread is finalizing tools.
    is_owner: bool,
}

impl HeldLocks for Locks {
    fn reset_in_child(self: Box<Self>) {
        drop(self.locks);
        finalize::reset_in_child(self.is_owner);
    }
}

/// Registers handlers that hold the locks during every later fork.
pub fn hold_locks_across_forks() {
    static ROOM: ForkRoom = ForkRoom::new(|| {
        let owner = finalize::lock();
        let is_owner = finalize::is_owner(&owner);
        let own: [Box<dyn Any>; 2] = [Box::new(clients::lock()), Box::new(owner)];
        let rooms = [
            contexts::locks(),
            buffers::locks(),
            correlation::locks(),
            services::locks(),
            markers::locks(),
            producer::locks(),
        ];
        let locks = rooms.into_iter().flatten().chain(own).collect();
        Box::new(Locks { locks, is_owner }) as Box<dyn HeldLocks>
    });
    if ROOM.register().is_err() {
        say("the child of a fork may hang: the system has no memory to prepare for it");
    }
}

use std::ffi::c_int;

use opscope_border::{Answer, Text, exported, system};
use opscope_producer::OfferedTable;
use opscope_producer::layout::{OPSCOPE_TOOL_NOT_MINE, OPSCOPE_TOOL_TAKEN, OPSCOPE_TOOL_TOO_LATE};

use super::{
    find,
    initialize::{initialize, initialize_with},
};
use crate::border::Status;
use crate::layout::Configure;
use crate::markers::RuntimeTables;
use crate::phase::{NOT_YET, initialization};
use crate::{markers, producer};

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

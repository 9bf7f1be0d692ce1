use std::ffi::{CStr, c_int};

use opscope_border::Text;
use opscope_border::loader::{self, Library, Scope};

use super::functions::{self, Id};
use super::{NAME, Outcome, VERSION, warn};
use crate::tables;

const LIBRARY: &CStr = c"librocprofiler-register.so.0";

const SUCCESS: c_int = 0;
const NO_TOOLS: c_int = 1;
const REENTERED: c_int = 2;

/// Passes the tables to rocprofiler-register, which passes them on to profilers, now or later. Returns `None` if that
/// library cannot be loaded.
pub fn register() -> Option<Outcome> {
    let register_tables = loader::visible(&functions::REGISTER_TABLES, Scope::Process).or_else(|| {
        let library = Library::loaded(LIBRARY).or_else(|| Library::load(LIBRARY, false))?;
        library.function(&functions::REGISTER_TABLES)
    })?;
    let count = tables::ALL.len() as u64;
    let mut id = Id::default();
    match register_tables(Text::from(NAME), import, VERSION, &tables::ALL, count, &mut id) {
        SUCCESS | NO_TOOLS => {}
        REENTERED => return Some(Outcome::Again),
        status => warn(&format!("rocprofiler-register did not take the tables: status {status}")),
    }
    Some(Outcome::Done)
}

/// rocprofiler-register uses the address of this function to determine which file registers. The exported function with
/// the same purpose is not used, because the loader might resolve its name to another library.
extern "C" fn import() -> u32 {
    VERSION
}

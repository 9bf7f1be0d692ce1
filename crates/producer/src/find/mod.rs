//! Searches for consumers and attaches them.

mod elf;
mod objects;
mod places;
mod tools;

use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::objects::{AttachFunction, Object, UseToolFunction};
use crate::consumers::{self, Consumer};
use crate::feed;
use crate::layout::{OPSCOPE_ATTACH_WRONG_VERSION, OPSCOPE_ATTACHED, Runtime};
use crate::turn::Turn;

pub use elf::{NoLibrary, exports};
pub use objects::{Exporter, exporters, is_same_object};
pub use places::{LIBRARY_DIRECTORY, LIBRARY_NAMES, Search};
pub use tools::{OfferedTool, Report, SkipReason, Skipped, ToolRefusal};

/// The function that a consumer exports.
pub(crate) const ATTACH: &CStr = c"opscope_attach_producer";

/// The function that a consumer exports if it runs tools.
const USE_TOOL: &CStr = c"opscope_use_tool";

/// The version of the producer. This crate has the same one, because all crates share the version of the workspace.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no NUL"),
};

const VERSION_NUMBER: u64 = 10_000 * number(env!("CARGO_PKG_VERSION_MAJOR"))
    + 100 * number(env!("CARGO_PKG_VERSION_MINOR"))
    + number(env!("CARGO_PKG_VERSION_PATCH"));

const fn number(digits: &str) -> u64 {
    match u64::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("a part of a version is a number"),
    }
}

static TURN: Turn = Turn::new();

thread_local! {
    /// Whether this thread is attaching consumers.
    static ATTACHING: Cell<bool> = const { Cell::new(false) };
}

/// Searches for consumers, and attaches those that are not attached yet; the producer's name is `producer`. First come
/// loaded objects that export `opscope_attach_producer`, then the libraries of `search`. A library that does not export
/// that function is not loaded.
///
/// Before that, each tool of `search` is offered to those consumers that run tools. If any tool is accepted by none of
/// them, nothing is attached.
///
/// A consumer cannot be detached: its functions may be called, from any thread, until the process ends. A consumer that
/// calls this function while it is being attached receives an empty report. Another thread that calls it meanwhile
/// waits for at most 5 seconds, because the consumer may be waiting for that thread, and then receives an empty report,
/// too.
pub fn attach(producer: &'static CStr, search: &Search) -> Report {
    if ATTACHING.replace(true) {
        return Report::default();
    }
    let Some(turn) = TURN.take() else {
        ATTACHING.set(false);
        return Report::default();
    };
    feed::start_clock();
    let searched = search.places().map(Path::to_owned).collect();
    let report = Report { searched, ..Report::default() };
    let mut attaching = Attaching { producer, report, met: Vec::new(), consumers: Vec::new(), found: Vec::new() };
    attaching.loaded_objects();
    attaching.libraries(search);
    if attaching.offer_tools(search) {
        attaching.attach_found();
    }
    drop(turn);
    ATTACHING.set(false);
    attaching.report
}

struct Attaching {
    producer: &'static CStr,
    report: Report,
    /// The addresses of `opscope_attach_producer` in consumers that were attached before or found by this search.
    met: Vec<usize>,
    /// The loaded objects that are consumers.
    consumers: Vec<PathBuf>,
    /// The consumers that are not attached yet.
    found: Vec<FoundConsumer>,
}

/// A consumer that is to be attached.
struct FoundConsumer {
    path: PathBuf,
    attach: AttachFunction,
    use_tool: Option<UseToolFunction>,
}

impl Attaching {
    fn loaded_objects(&mut self) {
        self.met.extend(consumers::attached().map(|consumer| consumer.attach));
        for name in objects::loaded() {
            if let Some(object) = Object::loaded(&name) {
                let path = objects::path_of(&name);
                if self.find(object, path.clone()) {
                    self.consumers.push(path);
                }
            }
        }
    }

    fn libraries(&mut self, search: &Search) {
        let skipped = |path: &PathBuf| Skipped { path: path.clone(), reason: SkipReason::NoDirectory };
        self.report.skipped.extend(search.named.iter().filter(|named| !named.is_dir()).map(skipped));
        for name in &search.names {
            if self.consumers.iter().any(|path| path.file_name() == Some(OsStr::new(name))) {
                continue;
            }
            for path in search.places().map(|place| place.join(name)).filter(|path| path.is_file()) {
                if self.library(&path) {
                    break;
                }
            }
        }
    }

    /// Inspects a file, and loads it if it is a consumer. Returns whether it is one.
    fn library(&mut self, path: &Path) -> bool {
        // dlopen uses a path with a slash as it is.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let loaded = match elf::exports(&path, ATTACH) {
            Ok(true) => {
                Object::load(&c_path(path.as_os_str())).ok_or_else(|| SkipReason::NotLoaded(objects::last_error()))
            }
            Ok(false) => Err(SkipReason::NoConsumer),
            Err(error) => Err(SkipReason::Unreadable(error)),
        };
        match loaded {
            Ok(object) => self.find(object, path),
            Err(reason) => {
                self.report.skipped.push(Skipped { path, reason });
                false
            }
        }
    }

    /// Adds an object if it exports the function itself. Returns whether it does.
    fn find(&mut self, object: Object, path: PathBuf) -> bool {
        let Some((attach, use_tool)) = object.into_own_functions(ATTACH, USE_TOOL) else { return false };
        if !self.met.contains(&attach.address()) {
            self.met.push(attach.address());
            self.found.push(FoundConsumer { path, attach, use_tool });
        }
        true
    }

    /// Offers each tool to the consumers that run tools. Returns whether all tools were accepted.
    fn offer_tools(&mut self, search: &Search) -> bool {
        let found = self.found.iter();
        let consumers: Vec<_> = found.filter_map(|found| Some((found.path.as_path(), found.use_tool?))).collect();
        let offer = |path: &PathBuf| OfferedTool { path: path.clone(), taken_by: tools::offer(path, &consumers) };
        self.report.tools = search.tools.iter().map(offer).collect();
        self.report.tools.iter().all(|tool| tool.taken_by.is_ok())
    }

    /// Offers a table to each consumer that was found.
    fn attach_found(&mut self) {
        for FoundConsumer { path, attach, .. } in std::mem::take(&mut self.found) {
            match self.attach(&attach) {
                Ok(()) => self.report.attached.push(path),
                Err(reason) => self.report.skipped.push(Skipped { path, reason }),
            }
        }
    }

    fn attach(&self, attach: &AttachFunction) -> Result<(), SkipReason> {
        if consumers::count() == consumers::MOST_CONSUMERS {
            return Err(SkipReason::TooMany);
        }
        let consumer = Consumer::new(attach.address());
        match attach.call(consumer.table) {
            OPSCOPE_ATTACHED => {
                if let Some(consumer) = consumers::add(consumer) {
                    self.initialized(consumer);
                }
                Ok(())
            }
            OPSCOPE_ATTACH_WRONG_VERSION => Err(SkipReason::WrongVersion),
            status => Err(SkipReason::Refused(status)),
        }
    }

    fn initialized(&self, consumer: &Consumer) {
        let runtime = Runtime {
            size: size_of::<Runtime>(),
            name: self.producer.as_ptr(),
            version: VERSION.as_ptr(),
            version_number: VERSION_NUMBER,
            thread: feed::current_thread(),
            time: feed::nanos_now(),
        };
        let entries = consumer.entries();
        entries.call(entries.runtime_initialized, &runtime);
    }
}

/// Returns a path for C. Paths of the system contain no NUL.
fn c_path(path: &OsStr) -> CString {
    CString::new(path.as_bytes()).unwrap_or_default()
}

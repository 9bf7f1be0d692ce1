//! What a rocprofiler-sdk tool (`abi/rocprofiler-sdk/tests/models/tool.c`) wrote, compared with the calls that a
//! consumer received for the same runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::consumers::{Call, of};

/// The lines that one tool wrote.
#[derive(Debug)]
pub struct Trace {
    /// In the order in which it wrote them.
    pub lines: Vec<Call>,
}

/// A dispatch: its operator, its thread, its start and end, and its grid.
type Dispatched = (String, u64, u64, u64, [u64; 3]);

/// A copy or an allocation: its operation, its address, its size in bytes, its thread, its start and end.
type Moved = (u64, u64, u64, u64, u64, u64);

impl Trace {
    /// Returns the lines of the tool with this name.
    pub fn of(lines: &[Call], tool: &str) -> Self {
        Self { lines: lines.iter().filter(|line| line.text("by") == tool).cloned().collect() }
    }

    /// Returns the lines of this kind.
    pub fn all(&self, kind: &str) -> Vec<&Call> {
        of(&self.lines, kind)
    }

    /// Returns the handles of the processor's agent and of the engine's.
    fn agents(&self) -> (u64, u64) {
        let id = |kind| {
            let mut agents = self.all("agent").into_iter().filter(|agent| agent.number("type") == kind);
            let id = agents.next().expect("an agent of each type").number("id");
            assert!(agents.next().is_none(), "two agents of type {kind}");
            id
        };
        (id(1), id(2))
    }

    /// Returns the names of kernels by their ids, from the code objects' callbacks.
    fn names(&self) -> BTreeMap<u64, String> {
        let mut names = BTreeMap::new();
        for symbol in self.all("call_symbol").into_iter().filter(|symbol| symbol.text("phase") == "enter") {
            let before = names.insert(symbol.number("kernel"), symbol.text("name").to_owned());
            assert_eq!(before, None, "{symbol:?} has the id of another kernel");
        }
        names
    }

    fn dispatches(&self) -> Vec<Dispatched> {
        let names = self.names();
        let (_, engine) = self.agents();
        let dispatched = |line: &&Call| {
            assert_eq!((line.number("agent"), line.text("workgroup")), (engine, "1,1,1"), "{line:?}");
            let name = names.get(&line.number("kernel")).unwrap_or_else(|| panic!("no name: {line:?}"));
            (
                name.clone(),
                line.number("thread"),
                line.number("start"),
                line.number("end"),
                ["x", "y", "z"].map(|size| line.number(size)),
            )
        };
        self.all("dispatch").iter().map(dispatched).collect()
    }

    /// Checks everything that the tool's buffers received against the calls that a consumer received for the same runs.
    pub fn is_all_of(&self, told: &[Call]) {
        self.dispatches_are(told, &of(told, "dispatch_end").into_iter().cloned().collect::<Vec<_>>());
        let (host, engine) = self.agents();
        let copies = self.all("copy").into_iter().map(|copy| {
            let agents = match copy.number("operation") {
                2 => (engine, host),
                3 => (host, engine),
                other => panic!("operation {other}"),
            };
            assert_eq!((copy.number("to"), copy.number("from")), agents, "{copy:?}");
            moved(copy.number("operation"), 0, copy.number("bytes"), copy)
        });
        let told_copies = of(told, "copy").into_iter();
        let told_copies = told_copies.map(|copy| moved(copy.number("direction") + 1, 0, copy.number("bytes"), copy));
        assert_eq!(sorted(copies), sorted(told_copies));

        let allocations = self.all("allocation").into_iter().map(|memory| {
            assert_eq!(memory.number("agent"), engine, "{memory:?}");
            moved(memory.number("operation"), memory.number("address"), memory.number("bytes"), memory)
        });
        let told_allocations = of(told, "allocation").into_iter().map(|memory| {
            let (operation, bytes) = if memory.number("operation") == 1 { (1, memory.number("bytes")) } else { (3, 0) };
            let (thread, time) = (memory.number("thread"), memory.number("time"));
            (operation, memory.number("address"), bytes, thread, time, time)
        });
        assert_eq!(sorted(allocations), sorted(told_allocations));
        self.what_is_allocated_is_freed();
        self.every_id_is_retired_once();

        assert_eq!(self.all("runtime").len(), 1);
        let (runtime, program) = (self.all("runtime")[0], of(told, "runtime_initialized")[0]);
        assert_eq!((runtime.number("operation"), runtime.number("instance")), (0, 0));
        assert_eq!(runtime.number("version"), program.number("number"));
        assert!(self.all("batch").iter().all(|batch| batch.number("dropped") == 0));
    }

    /// Checks the dispatches that the tool's buffers received against these calls of a consumer. `told` has the calls
    /// that announced their kernels.
    pub fn dispatches_are(&self, told: &[Call], dispatches: &[Call]) {
        self.dispatches_are_in_any_order(told, dispatches);
        self.ids_rise_with_time();
    }

    /// Does the same as [`dispatches_are`](Self::dispatches_are), but does not require that ids rise with time: a
    /// dispatch may be announced before others that are executed first.
    pub fn dispatches_are_in_any_order(&self, told: &[Call], dispatches: &[Call]) {
        assert_eq!(sorted(self.dispatches()), sorted(told_dispatches(told, dispatches)));
        let ids: BTreeSet<u64> = self.all("dispatch").iter().map(|line| line.number("dispatch")).collect();
        assert_eq!(ids, (1..=self.all("dispatch").len() as u64).collect());
    }

    /// Checks that on each thread a dispatch with a larger id began later.
    fn ids_rise_with_time(&self) {
        let mut last: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut dispatches = self.all("dispatch");
        dispatches.sort_by_key(|line| line.number("dispatch"));
        for line in dispatches {
            let (start, end) = (line.number("start"), line.number("end"));
            let before = last.insert(line.number("thread"), (start, end)).unwrap_or_default();
            assert!(before.1 <= start && start <= end, "{line:?} after {before:?}");
        }
    }

    fn what_is_allocated_is_freed(&self) {
        let mut memory = self.all("allocation");
        memory.sort_by_key(|line| (line.number("start"), line.number("internal")));
        let mut held: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for line in memory {
            let at = (line.number("thread"), line.number("address"));
            match line.number("operation") {
                1 => assert_eq!(held.insert(at, line.number("bytes")), None, "{line:?} is held already"),
                _ => assert!(held.remove(&at).is_some(), "{line:?} was not allocated"),
            }
        }
        assert!(held.is_empty(), "{held:?} is not freed");
    }

    fn every_id_is_retired_once(&self) {
        let mut used = BTreeMap::new();
        for line in ["dispatch", "copy", "allocation", "marker"].iter().flat_map(|kind| self.all(kind)) {
            assert!(line.number("internal") > 0, "{line:?}");
            let before = used.insert(line.number("internal"), line.number("end"));
            assert_eq!(before, None, "{line:?} has the id of another record");
        }
        let retired: BTreeMap<u64, u64> =
            self.all("retired").iter().map(|line| (line.number("internal"), line.number("time"))).collect();
        assert_eq!(retired.len(), self.all("retired").len(), "an id is retired once");
        assert_eq!(retired.keys().collect::<Vec<_>>(), used.keys().collect::<Vec<_>>());
        for (id, end) in used {
            assert!(end <= retired[&id], "{id} was retired before its end");
        }
    }

    /// Checks that the callbacks report the same as the buffers' records, and that the phases of each event are in
    /// order.
    pub fn callbacks_say_the_same(&self) {
        let mut events: BTreeMap<u64, Vec<&Call>> = BTreeMap::new();
        let kinds = ["call_dispatch", "call_copy", "call_allocation"];
        for line in kinds.iter().flat_map(|kind| self.all(kind)) {
            events.entry(line.number("internal")).or_default().push(line);
        }
        let records: Vec<&Call> = ["dispatch", "copy", "allocation"].iter().flat_map(|kind| self.all(kind)).collect();
        assert_eq!(events.len(), records.len());
        for record in records {
            let event = &events[&record.number("internal")];
            let told: Vec<_> = event.iter().map(|line| (line.number("operation"), line.text("phase"))).collect();
            if record.function == "dispatch" {
                assert_eq!(told, [(1, "enter"), (1, "exit"), (2, "none")]);
            } else {
                let operation = record.number("operation");
                assert_eq!(told, [(operation, "enter"), (operation, "exit")]);
            }
            let (last, before) = event.split_last().expect("phases");
            assert!(before[0].number("start") == 0 && before[0].number("end") == 0, "{before:?}");
            let same: &[&str] = match &*record.function {
                "dispatch" => &["kernel", "dispatch", "agent", "queue", "x", "y", "z"],
                "copy" => &["to", "from", "bytes"],
                _ => &["agent", "address", "bytes"],
            };
            for key in same.iter().chain(&["thread", "external", "start", "end"]) {
                assert_eq!(last.number(key), record.number(key), "{key} of {record:?}");
            }
        }
        let initialized: Vec<_> = self.all("call_runtime").iter().map(|line| line.text("phase")).collect();
        assert_eq!(initialized, ["none"]);
    }

    /// Checks the life of code objects: each object is loaded before its kernels and unloaded before them, and
    /// everything that is loaded is unloaded. Returns how many objects there were.
    pub fn code_objects_come_and_go(&self) -> usize {
        let (_, engine) = self.agents();
        let mut loaded: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let mut unloaded: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for line in &self.lines {
            match line.function.as_str() {
                "call_object" => {
                    is_a_file(line);
                    assert_eq!((line.number("agent"), line.number("internal")), (engine, 0));
                    let to = if line.text("phase") == "enter" { &mut loaded } else { &mut unloaded };
                    assert!(to.insert(line.number("object"), BTreeSet::new()).is_none(), "{line:?} comes twice");
                }
                "call_symbol" => {
                    let to = if line.text("phase") == "enter" { &mut loaded } else { &mut unloaded };
                    let kernels = to.get_mut(&line.number("object")).expect("its object comes first");
                    assert!(kernels.insert(line.number("kernel")), "{line:?} comes twice");
                }
                _ => {}
            }
        }
        assert_eq!(unloaded, loaded);
        loaded.len()
    }
}

/// Checks that a code object names its model's file, and the file's size.
fn is_a_file(object: &Call) {
    let path = object.text("uri").strip_prefix("file://").and_then(|rest| rest.split_once("#offset=0&size="));
    let (path, size) = path.unwrap_or_else(|| panic!("{object:?}"));
    let bytes = fs::metadata(path).expect("the model's file").len();
    assert!(path.starts_with('/') && size.parse() == Ok(bytes), "{object:?}");
    assert_eq!((object.number("storage"), object.number("size")), (1, bytes), "{object:?}");
}

fn sorted<T: Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort();
    values
}

fn moved(operation: u64, address: u64, bytes: u64, line: &Call) -> Moved {
    (operation, address, bytes, line.number("thread"), line.number("start"), line.number("end"))
}

/// Returns these dispatches of a consumer, each with the grid that results from the shape of its kernel's output.
fn told_dispatches(told: &[Call], dispatches: &[Call]) -> Vec<Dispatched> {
    let shape = |plan: u64, index: u64| {
        let is_this = |kernel: &&&Call| (kernel.number("plan"), kernel.number("index")) == (plan, index);
        let shape = of(told, "kernel").iter().find(is_this).expect("a kernel").text("shape").to_owned();
        let sizes: Vec<u64> = shape.split('x').filter_map(|size| size.parse().ok()).collect();
        let last = |back: usize| sizes.len().checked_sub(back).map_or(1, |index| sizes[index]);
        [last(1), last(2), sizes.iter().rev().skip(2).product()]
    };
    let mut shapes: BTreeMap<(u64, u64), [u64; 3]> = BTreeMap::new();
    let dispatched = |end: &Call| {
        let kernel = (end.number("plan"), end.number("kernel"));
        let grid = *shapes.entry(kernel).or_insert_with(|| shape(kernel.0, kernel.1));
        (end.text("name").to_owned(), end.number("thread"), end.number("start"), end.number("end"), grid)
    };
    dispatches.iter().map(dispatched).collect()
}

//! The files that `scripts/make-foreign-traces` made, against what it says is in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use serde::Deserialize;

use super::assemble::{Assembler, TrackOf};
use super::event::What;
use super::format::Format;
use super::{nsys, perfetto, rocpd, rocprof_csv};

/// What a file has.
#[derive(Deserialize)]
struct Expected {
    /// The sum of durations and the number of events, by kind and name.
    sums: BTreeMap<String, (u64, u64)>,
    /// How many kernels and copies a call launched.
    tied: usize,
}

fn directory() -> PathBuf {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign");
    std::env::var_os("OPSCOPE_FOREIGN_TRACES").map_or(committed, PathBuf::from)
}

fn imported(file: &Path) -> Assembler {
    let mut into = Assembler::new(&std::env::temp_dir(), Arc::default());
    let read = match Format::of(file).unwrap() {
        Format::Nsys => nsys::read,
        Format::Rocpd => rocpd::read,
        Format::RocprofCsv => rocprof_csv::read,
        Format::Perfetto => perfetto::read,
        Format::Json { .. } => unreachable!("none of them is JSON"),
    };
    read(file, &mut into).unwrap();
    into
}

#[test]
fn every_event_of_made_files_is_imported_with_its_duration() {
    let expected = std::fs::read(directory().join("expected.json")).unwrap();
    let expected: BTreeMap<String, Expected> = serde_json::from_slice(&expected).unwrap();
    assert_eq!(expected.len(), 4);
    for (file, Expected { sums, tied }) in expected {
        let into = imported(&directory().join(&file));
        let got = into.taken.sums().into_iter().map(|((what, name), sum)| (format!("{what} {name}"), sum));
        assert_eq!(got.collect::<BTreeMap<_, _>>(), sums, "{file}");
        assert_eq!(into.damage(), [""; 0], "{file}");
        assert!(into.all_not_imported().is_empty(), "{file}: {:?}", into.all_not_imported());

        // All work of devices is tied to exactly one call, which began before it.
        let mut calls = HashMap::new();
        for call in into.taken.of(What::Call) {
            let earlier = (call.correlation != 0).then(|| calls.insert(call.correlation, call)).flatten();
            assert_eq!(earlier, None, "{file}: two calls have one correlation");
        }
        let work = into.taken.events.iter().filter(|event| event.what.is_device_work());
        let launched =
            work.clone().filter(|work| calls.get(&work.correlation).is_some_and(|call| call.start < work.start));
        assert_eq!((launched.count(), work.clone().count()), (tied, tied), "{file}");

        // What one process launched is on the device that it has.
        let mut devices: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for work in work {
            let (TrackOf::Thread { process, .. }, TrackOf::Stream { device, .. }) =
                (calls[&work.correlation].track, work.track)
            else {
                panic!("{file}: a call on a device or a kernel on a thread")
            };
            devices.entry(process).or_default().push(device);
        }
        assert!(devices.values().all(|of| of.iter().all(|device| *device == of[0])), "{file}: {devices:?}");
    }
}

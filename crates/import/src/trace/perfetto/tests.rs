use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use proptest::prelude::*;

use super::messages::*;
use super::*;
use crate::trace::assemble::TrackOf;

fn file(packets: &[TracePacket]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for packet in packets {
        prost::encoding::message::encode(1, packet, &mut bytes);
    }
    bytes
}

fn taken(bytes: &[u8]) -> Assembler {
    let mut into = Assembler::new(Path::new("."), Arc::default());
    read_from(bytes, Path::new("a.pftrace"), &mut into).unwrap();
    into
}

fn at(timestamp: u64, event: TrackEvent) -> TracePacket {
    TracePacket { timestamp: Some(timestamp), sequence: 1, track_event: Some(event), ..TracePacket::default() }
}

fn begin(time: u64, track: u64, name: u64, category: u64) -> TracePacket {
    let (track_uuid, name_iid) = (Some(track), Some(name));
    let (kind, category_iids) = (TrackEvent::SLICE_BEGIN, vec![category]);
    at(time, TrackEvent { kind, track_uuid, name_iid, category_iids, ..TrackEvent::default() })
}

fn end(time: u64, track: u64) -> TracePacket {
    at(time, TrackEvent { kind: TrackEvent::SLICE_END, track_uuid: Some(track), ..TrackEvent::default() })
}

fn described(descriptor: TrackDescriptor) -> TracePacket {
    TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() }
}

/// What an own timeline has: interned texts, a process, a thread, a side track and a counter.
fn own() -> Vec<TracePacket> {
    let text = |iid, text: &str| InternedText { iid, text: text.to_owned() };
    let snapshot = ClockSnapshot {
        clocks: vec![
            Clock { id: Clock::BOOTTIME, time: 1_000, ..Clock::default() },
            Clock { id: Clock::REALTIME, time: 1_700_000_000_000_001_000, ..Clock::default() },
        ],
    };
    let process = ProcessDescriptor { pid: 7, process_name: "opscope model.onnx".to_owned() };
    let thread = ThreadDescriptor { pid: 7, tid: 8, thread_name: "main".to_owned() };
    let counter = CounterDescriptor { unit_name: "bytes".to_owned(), ..CounterDescriptor::default() };
    let interned = InternedData {
        event_names: vec![text(1, "run"), text(2, "Conv"), text(3, "mine")],
        event_categories: vec![text(4, "run"), text(5, "operator"), text(6, "marker")],
    };
    vec![
        TracePacket { clock_snapshot: Some(snapshot), sequence: 1, sequence_flags: 1, ..TracePacket::default() },
        described(TrackDescriptor { uuid: Some(1), process: Some(process), ..TrackDescriptor::default() }),
        described(TrackDescriptor {
            uuid: Some(2),
            parent_uuid: 1,
            thread: Some(thread),
            ..TrackDescriptor::default()
        }),
        described(TrackDescriptor {
            uuid: Some(3),
            parent_uuid: 1,
            name: "side".to_owned(),
            ..TrackDescriptor::default()
        }),
        described(TrackDescriptor {
            uuid: Some(4),
            name: "memory".to_owned(),
            counter: Some(counter),
            ..TrackDescriptor::default()
        }),
        TracePacket { sequence: 1, interned_data: Some(interned), ..TracePacket::default() },
        begin(2_000, 2, 1, 4),
        begin(2_100, 2, 2, 5),
        end(2_300, 2),
        begin(2_050, 3, 3, 6),
        end(2_060, 3),
        end(2_500, 2),
        at(
            2_400,
            TrackEvent {
                kind: TrackEvent::COUNTER,
                track_uuid: Some(4),
                double_counter_value: Some(1.5),
                ..TrackEvent::default()
            },
        ),
        begin(2_600, 2, 1, 4),
    ]
}

#[test]
fn own_timelines_are_read_back() {
    let into = taken(&file(&own()));
    let expected: BTreeMap<_, _> =
        [("Range", "run", (500, 2)), ("Operator", "Conv", (200, 1)), ("Range", "mine", (10, 1))]
            .map(|(what, name, sum)| ((what.to_owned(), name.to_owned()), sum))
            .into();
    assert_eq!(into.taken.sums(), expected);
    assert_eq!(into.taken.samples, [("memory".to_owned(), "bytes".to_owned(), 2_400, 1.5)]);
    assert_eq!(into.about.zero_unix_ns, Some(1_700_000_000_000_000_000));
    assert_eq!((into.about.process, into.about.program.as_str()), (7, "opscope model.onnx"));
    let thread = |thread| TrackOf::Thread { process: 7, thread };
    assert_eq!(into.named().0, [(thread(8), "main".to_owned()), (thread(1 << 32), "side".to_owned())]);
    assert_eq!(into.about.notes, ["1 slices were open when the trace ended; they end there."]);
    assert_eq!((into.damage().len(), into.all_not_imported().len()), (0, 0));
    assert!(is_perfetto(&file(&own())));
}

#[test]
fn compressed_packets_are_read_and_do_not_nest() {
    let compressed = |inner: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(inner).unwrap();
        TracePacket { compressed_packets: Some(encoder.finish().unwrap()), ..TracePacket::default() }
    };
    let once = file(&[compressed(&file(&own()))]);
    assert_eq!(taken(&once).taken.events, taken(&file(&own())).taken.events);
    assert_eq!(taken(&file(&[compressed(&once)])).taken.events.len(), 0);
    let broken = TracePacket { compressed_packets: Some(vec![1, 2, 3]), ..TracePacket::default() };
    assert!(taken(&file(&[broken])).damage()[0].contains("cannot be decompressed"));
}

#[test]
fn clocks_of_a_writer_and_defaults_are_followed() {
    let clocks = vec![
        Clock { id: Clock::BOOTTIME, time: 5_000_000, ..Clock::default() },
        Clock { id: 64, time: 0, is_incremental: true, unit_ns: 1_000 },
        Clock { id: 3, time: 1_000_000, ..Clock::default() },
    ];
    let defaults = PacketDefaults { clock: Some(64), track_event: Some(EventDefaults { track_uuid: Some(9) }) };
    let first = TracePacket {
        sequence: 1,
        sequence_flags: 1,
        clock_snapshot: Some(ClockSnapshot { clocks }),
        defaults: Some(defaults),
        ..TracePacket::default()
    };
    let named = |kind| TrackEvent { kind, name: Some("a".to_owned()), ..TrackEvent::default() };
    let monotonic = TracePacket { clock: Some(3), ..at(1_500_000, named(TrackEvent::INSTANT)) };
    let unknown = TracePacket { clock: Some(77), ..at(1, named(TrackEvent::INSTANT)) };
    let slice = [at(10, named(TrackEvent::SLICE_BEGIN)), at(5, named(TrackEvent::SLICE_END))];
    let into = taken(&file(&[vec![first], slice.to_vec(), vec![monotonic, unknown]].concat()));
    let spans: Vec<_> = into.taken.events.iter().map(|event| (event.start, event.duration)).collect();
    assert_eq!(spans, [(5_010_000, 5_000), (5_500_000, 0)]);
    assert_eq!(into.not_imported_of(UNREAD, "without a time that is known"), 1);
}

#[test]
fn what_is_lost_is_named() {
    let bytes = file(&own());
    let cut = taken(&bytes[..bytes.len() - 3]);
    assert_eq!(
        cut.damage(),
        ["a.pftrace: it can be read up to its packet 13 only: the file ends in the middle of a packet"]
    );
    let mut with_long = vec![packets::PACKET, 0x80, 0x80, 0x80, 0x08];
    with_long.extend(vec![0; 16 << 20]);
    with_long.extend(&bytes);
    let long = taken(&with_long);
    assert!(long.damage()[0].contains("packet 1 has 16777216 bytes"), "{:?}", long.damage());
    assert_eq!(long.taken.events.len(), 4);
    assert_eq!(taken(&file(&[end(5, 2)])).not_imported_of(UNREAD, "end of a slice without its begin"), 1);
}

/// A packet with these bytes.
fn packet(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::bytes::encode(1, &content.to_vec(), &mut bytes);
    bytes
}

#[test]
fn what_packets_have_that_is_not_read_is_counted_by_its_name() {
    // The numbers of the fields are those of Perfetto's trace_packet.proto.
    let unread = [
        (1, "ftrace events"),
        (2, "process tree"),
        (7, "system statistics"),
        (9, "process statistics"),
        (37, "heap profile"),
        (39, "Android log"),
        (43, "process descriptor"),
        (44, "thread descriptor"),
        (52, "GPU counters"),
        (53, "GPU render stages"),
        (54, "stack samples"),
        (66, "performance samples"),
    ];
    let mut bytes = Vec::new();
    for field in unread.map(|(field, _)| field).into_iter().chain([900]) {
        let mut content = Vec::new();
        prost::encoding::bytes::encode(field, &Vec::new(), &mut content);
        bytes.extend(packet(&content));
    }
    let expected = unread.map(|(_, name)| (("Perfetto packet".to_owned(), name.to_owned()), 1)).into();
    assert_eq!(taken(&bytes).all_not_imported(), expected);
}

#[test]
fn losses_are_counted() {
    let dropped = TracePacket { previous_packet_dropped: true, ..TracePacket::default() };
    let bytes = [file(&[dropped.clone(), dropped]), packet(&[0xFF]), packet(&[0xFF]), packet(&[0xFF])].concat();
    let into = taken(&bytes);
    assert_eq!(
        into.damage(),
        ["a.pftrace: 3 packets cannot be decoded", "a.pftrace: 2 times a writer says that it dropped packets"]
    );
    assert_eq!(into.not_imported_of("damaged packet", "not decodable"), 3);
}

#[test]
fn a_category_says_what_a_slice_is() {
    for (category, what) in [
        ("operator", "Operator"),
        ("cpu_op", "Operator"),
        ("module", "Module"),
        ("engine_call", "Call"),
        ("cuda_runtime", "Call"),
        ("cuda_driver", "Call"),
        ("mine", "Range"),
    ] {
        let name = Some("a".to_owned());
        let (kind, categories) = (TrackEvent::SLICE_BEGIN, vec!["other".to_owned(), category.to_owned()]);
        let begin = TrackEvent { kind, name, track_uuid: Some(2), categories, ..TrackEvent::default() };
        let into = taken(&file(&[at(10, begin), end(30, 2)]));
        let expected: BTreeMap<_, _> = [((what.to_owned(), "a".to_owned()), (20, 1))].into();
        assert_eq!(into.taken.sums(), expected, "{category}");
    }
}

#[test]
fn slices_beyond_what_is_kept_open_are_left_out_and_those_around_them_end_where_they_end() {
    let begin = |time, name: &str| {
        let kind = TrackEvent::SLICE_BEGIN;
        at(time, TrackEvent { kind, name: Some(name.to_owned()), track_uuid: Some(2), ..TrackEvent::default() })
    };
    let packets = [begin(10, "a"), begin(20, "b"), begin(30, "c"), end(40, 2), end(50, 2), end(70, 2), end(80, 2)];
    let mut into = Assembler::new(Path::new("."), Arc::default());
    let mut trace = Trace::default();
    trace.tracks.open = MOST - 1;
    trace.packets(&mut file(&packets).as_slice(), Path::new("a.pftrace"), &mut into, false).unwrap();
    assert_eq!(trace.tracks.open, MOST - 1);
    assert_eq!(into.taken.sums(), [(("Range".to_owned(), "a".to_owned()), (60, 1))].into());
    assert_eq!(into.not_imported_of(UNREAD, "slice within too many others"), 2);
    assert_eq!(into.not_imported_of(UNREAD, "end of a slice without its begin"), 1);
}

#[test]
fn a_first_packet_may_be_longer_than_what_is_looked_at() {
    for (length, is_one) in [(1024, false), (1025, true), (1026, true)] {
        let mut head = vec![packets::PACKET, 0xD0, 0x0F];
        head.resize(length, 0);
        assert_eq!(is_perfetto(&head), is_one, "{length}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let mut into = Assembler::new(Path::new("."), Arc::default());
    let error = read_from(BufReader::new(Failing), Path::new("a.pftrace"), &mut into).unwrap_err();
    assert!(error.to_string().contains("the disk is gone"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let into = taken(&bytes);
        prop_assert!(into.taken.events.len() <= bytes.len());
    }

    #[test]
    fn any_change_of_a_file_is_read_or_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut bytes = file(&own());
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        taken(&bytes);
        is_perfetto(&bytes);
    }
}

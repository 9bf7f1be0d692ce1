//! The messages of Perfetto's format as far as they are read. Names and field numbers are those of
//! <https://android.googlesource.com/platform/external/perfetto/+/refs/heads/main/protos/perfetto/trace/>. They are
//! not those that the export writes: a reader needs what other writers use in place of it, and leaves notes out.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    pub sequence: u32,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    pub sequence_flags: u32,
    #[prost(bool, tag = "41")]
    pub incremental_state_cleared: bool,
    #[prost(bool, tag = "42")]
    pub previous_packet_dropped: bool,
    /// Packets, compressed with zlib.
    #[prost(bytes = "vec", optional, tag = "50")]
    pub compressed_packets: Option<Vec<u8>>,
    #[prost(uint32, optional, tag = "58")]
    pub clock: Option<u32>,
    #[prost(message, optional, tag = "59")]
    pub defaults: Option<PacketDefaults>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

impl TracePacket {
    /// A flag: earlier interned texts are no longer valid.
    pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PacketDefaults {
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<EventDefaults>,
    #[prost(uint32, optional, tag = "58")]
    pub clock: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EventDefaults {
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(int64, optional, tag = "1")]
    pub timestamp_delta_us: Option<i64>,
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub category_iids: Vec<u64>,
    #[prost(int32, tag = "9")]
    pub kind: i32,
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(int64, optional, tag = "16")]
    pub timestamp_absolute_us: Option<i64>,
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
}

impl TrackEvent {
    pub const SLICE_BEGIN: i32 = 1;
    pub const SLICE_END: i32 = 2;
    pub const INSTANT: i32 = 3;
    pub const COUNTER: i32 = 4;
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedText>,
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedText>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedText {
    #[prost(uint64, tag = "1")]
    pub iid: u64,
    #[prost(string, tag = "2")]
    pub text: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, tag = "5")]
    pub parent_uuid: u64,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    #[prost(string, tag = "10")]
    pub static_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(string, tag = "6")]
    pub process_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(int64, tag = "2")]
    pub tid: i64,
    #[prost(string, tag = "5")]
    pub thread_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(int32, tag = "3")]
    pub unit: i32,
    #[prost(int64, tag = "4")]
    pub unit_multiplier: i64,
    #[prost(bool, tag = "5")]
    pub is_incremental: bool,
    #[prost(string, tag = "6")]
    pub unit_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Clock {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(uint64, tag = "2")]
    pub time: u64,
    #[prost(bool, tag = "3")]
    pub is_incremental: bool,
    #[prost(uint64, tag = "4")]
    pub unit_ns: u64,
}

impl Clock {
    /// The number of `CLOCK_REALTIME`.
    pub const REALTIME: u32 = 1;
    /// The number of `CLOCK_BOOTTIME`, which packets mean that name no clock.
    pub const BOOTTIME: u32 = 6;
    /// The clocks that each sequence has of its own.
    pub const OF_SEQUENCE: std::ops::Range<u32> = 64..128;
}

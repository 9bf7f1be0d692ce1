//! What a writer has said so far: its interned texts, its defaults and its clocks.

use std::sync::Arc;

use foldhash::HashMap;

use super::messages::{Clock, ClockSnapshot, InternedText, PacketDefaults, TracePacket};

/// The bytes of interned texts that all writers together may have.
const MOST_TEXT: usize = 128 << 20;

/// The state of all writers.
#[derive(Default)]
pub(super) struct Sequences {
    all: HashMap<u32, Sequence>,
    /// What is added to a clock of the system to get `CLOCK_BOOTTIME`.
    offsets: HashMap<u32, i64>,
    text_bytes: usize,
    pub zero_unix_ns: Option<u64>,
}

/// The state of a writer.
#[derive(Default)]
pub(super) struct Sequence {
    names: HashMap<u64, Arc<str>>,
    categories: HashMap<u64, Arc<str>>,
    pub default_track: Option<u64>,
    default_clock: Option<u32>,
    clocks: HashMap<u32, OwnClock>,
}

/// A clock of one writer.
#[derive(Clone, Copy)]
struct OwnClock {
    /// The time in `CLOCK_BOOTTIME` at which it showed `shown`.
    boot: i64,
    shown: u64,
    /// Whether each time is the difference to the one before.
    is_incremental: bool,
    unit_ns: u64,
}

impl Sequences {
    /// Takes what a packet says about its writer. Returns false if it has more text than is kept.
    pub fn take(&mut self, packet: &mut TracePacket) -> bool {
        let sequence = self.all.entry(packet.sequence).or_default();
        let flagged = packet.sequence_flags & TracePacket::INCREMENTAL_STATE_CLEARED != 0;
        if flagged || packet.incremental_state_cleared {
            *sequence = Sequence::default();
        }
        if let Some(PacketDefaults { track_event, clock }) = &packet.defaults {
            sequence.default_track = track_event.as_ref().and_then(|event| event.track_uuid);
            sequence.default_clock = *clock;
        }
        let mut fits = true;
        if let Some(data) = packet.interned_data.take() {
            for (texts, table) in
                [(data.event_names, &mut sequence.names), (data.event_categories, &mut sequence.categories)]
            {
                for InternedText { iid, text } in texts {
                    self.text_bytes += text.len() + 64;
                    fits = self.text_bytes <= MOST_TEXT;
                    if fits {
                        table.insert(iid, text.into());
                    }
                }
            }
        }
        if let Some(snapshot) = &packet.clock_snapshot {
            self.clocks(packet.sequence, snapshot);
        }
        fits
    }

    fn clocks(&mut self, number: u32, snapshot: &ClockSnapshot) {
        let shown = |id| snapshot.clocks.iter().find(|clock| clock.id == id).map(|clock| clock.time as i64);
        // Other clocks are compared with the one that packets mean. If a snapshot lacks it, one that is known.
        let boot = shown(Clock::BOOTTIME).or_else(|| {
            let known = |clock: &Clock| Some((clock.time as i64).wrapping_add(*self.offsets.get(&clock.id)?));
            snapshot.clocks.iter().find_map(known)
        });
        let Some(boot) = boot else { return };
        if let (None, Some(real)) = (self.zero_unix_ns, shown(Clock::REALTIME)) {
            self.zero_unix_ns = real.checked_sub(boot).and_then(|zero| u64::try_from(zero).ok());
        }
        for &Clock { id, time, is_incremental, unit_ns } in &snapshot.clocks {
            let unit_ns = unit_ns.max(1);
            if Clock::OF_SEQUENCE.contains(&id) {
                let own = OwnClock { boot, shown: time, is_incremental, unit_ns };
                self.all.entry(number).or_default().clocks.insert(id, own);
            } else if unit_ns == 1 {
                self.offsets.insert(id, boot.wrapping_sub(time as i64));
            }
        }
    }

    /// Returns the state of a writer.
    pub fn of(&mut self, number: u32) -> &mut Sequence {
        self.all.entry(number).or_default()
    }

    /// Returns when a packet was written, in nanoseconds of `CLOCK_BOOTTIME`. `None` if it has no time, or if nothing
    /// tells what its clock is. Times of clocks that count differences have to be asked for in the order of the file.
    pub fn time(&mut self, packet: &TracePacket) -> Option<u64> {
        let time = packet.timestamp?;
        let sequence = self.all.entry(packet.sequence).or_default();
        let clock = packet.clock.or(sequence.default_clock).unwrap_or(Clock::BOOTTIME);
        if clock == Clock::BOOTTIME {
            return Some(time);
        }
        if !Clock::OF_SEQUENCE.contains(&clock) {
            return time.checked_add_signed(*self.offsets.get(&clock)?);
        }
        let own = sequence.clocks.get_mut(&clock)?;
        let passed = if own.is_incremental { time } else { time.checked_sub(own.shown)? };
        let boot = own.boot.checked_add_unsigned(passed.checked_mul(own.unit_ns)?)?;
        if own.is_incremental {
            own.boot = boot;
        }
        u64::try_from(boot).ok()
    }
}

impl Sequence {
    /// Returns an interned name.
    pub fn name(&self, number: u64) -> Option<&Arc<str>> {
        self.names.get(&number)
    }

    /// Returns an interned category.
    pub fn category(&self, number: u64) -> Option<&Arc<str>> {
        self.categories.get(&number)
    }
}

//! Emits very many records in random circumstances and accounts for each of them: `prove RECORDS [SEED]`.
//!
//! Every scenario draws a policy, a size, a watermark, threads, lengths and kinds. Meanwhile, at random, other threads
//! flush, read statistics and move the buffer to another callback thread, and emitting threads end and are replaced.
//! The callback checks that every record is whole and that each thread's records come in order, without a gap where
//! nothing may be lost. In the end the counts of the emitting threads, of the buffer and of the callback must agree,
//! per kind.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use opscope_trace::{Batch, Buffer, BufferOptions, Bytes, CallbackThread, Category, Policy, RecordRef, recover};

const OURS: Category = Category(3);
const KINDS: usize = 4;

/// A generator of random numbers (xorshift64*), so that a scenario can be repeated from its seed.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 33) % bound
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

#[derive(Debug)]
struct Scenario {
    policy: Policy,
    size: u64,
    watermark: u64,
    threads: u64,
    records_each: u64,
    /// The largest length; the smallest is 8.
    longest: u64,
    kinds: u64,
    interval: Option<Duration>,
    own_thread: bool,
    disturbed: bool,
    in_a_file: bool,
}

/// What the callback received.
#[derive(Default)]
struct Seen {
    /// The next number of each thread.
    next: Vec<u64>,
    kinds: [u64; KINDS],
    gaps: u64,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let wanted: u64 = arguments.next().and_then(|number| number.parse().ok()).expect("usage: prove RECORDS [SEED]");
    let seed = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(0x5eed);
    let mut random = Random(seed);
    let (mut emitted, mut scenarios, start) = (0, 0, Instant::now());
    while emitted < wanted {
        let at = random.0;
        let scenario = draw(&mut random, wanted - emitted);
        // If it hangs, the last line names the scenario.
        if std::env::var_os("PROVE_VERBOSE").is_some() {
            eprintln!("{at}: {scenario:?}");
        }
        emitted += run(&scenario, &mut random, at);
        scenarios += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{emitted} records in {scenarios} scenarios accounted for, every one, in {seconds:.1} s (seed {seed})");
}

fn draw(random: &mut Random, left: u64) -> Scenario {
    let policy = [Policy::Lossless, Policy::Discard, Policy::Overwrite][random.below(3) as usize];
    let size = (8 << random.below(18)) + random.below(64);
    let share = (size.next_multiple_of(8) / 16).clamp(512, 31 << 10).min(size.next_multiple_of(8)) / 8 * 8;
    let watermark = match random.below(4) {
        0 => size,
        1 => random.below(size.min(200)),
        _ => random.below(size + 1),
    };
    let most = if random.one_in(4) { 16 } else { 3 };
    let threads = 1 + random.below(most);
    // A callback for every few bytes, or a wait for every record, is slow.
    let slow = watermark < 512 || (policy == Policy::Lossless && size < 4096);
    let longest = if random.one_in(2) { share.min(64) } else { share };
    let records = if slow { 4_000 } else { (1 << 26) / longest.max(32) };
    Scenario {
        policy,
        size,
        watermark,
        threads,
        records_each: (records / threads).min(left).max(100),
        longest,
        kinds: 1 + random.below(KINDS as u64),
        interval: random.one_in(4).then(|| Duration::from_micros(100 + random.below(2000))),
        own_thread: random.one_in(2),
        disturbed: random.one_in(2),
        in_a_file: random.one_in(5),
    }
}

/// Runs a scenario. Returns the number of records that it emitted.
fn run(scenario: &Scenario, random: &mut Random, seed: u64) -> u64 {
    let seen = Arc::new(Mutex::new(Seen { next: vec![0; scenario.threads as usize], ..Seen::default() }));
    let sees = Arc::clone(&seen);
    let lossless = scenario.policy == Policy::Lossless;
    let name = format!("opscope-prove-{}-{seed}", std::process::id());
    let file = scenario.in_a_file.then(|| std::env::temp_dir().join(name));
    let options = BufferOptions {
        size: Bytes::new(scenario.size),
        watermark: Bytes::new(scenario.watermark),
        policy: scenario.policy,
        interval: scenario.interval,
        reports_drops: false,
        thread: if scenario.own_thread { CallbackThread::create("own") } else { CallbackThread::shared() },
        file: file.clone(),
    };
    let buffer =
        Buffer::create(options, move |batch| check(batch, &mut sees.lock().expect("no check fails"), lossless))
            .expect("the options are valid");
    let emitted: [AtomicU64; KINDS] = Default::default();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let producers: Vec<_> = (0..scenario.threads)
            .map(|number| {
                let (buffer, emitted, random) = (&buffer, &emitted, Random(random.next() | 1));
                scope.spawn(move || produce(buffer, scenario, number, random, emitted))
            })
            .collect();
        if scenario.disturbed {
            let (buffer, done, random) = (&buffer, &done, Random(random.next() | 1));
            scope.spawn(move || disturb(buffer, random, done));
        }
        producers.into_iter().for_each(|producer| producer.join().expect("it emits"));
        done.store(true, Ordering::Relaxed);
    });
    let before = buffer.statistics().total();
    assert_eq!(before.emitted, before.delivered + before.dropped + before.waiting, "{seed}: {scenario:?}");
    buffer.flush().expect("it is not destroyed");
    let statistics = buffer.statistics();
    let seen = seen.lock().expect("no check fails");
    for kind in 0..KINDS {
        let counted = statistics.kinds.get(&(OURS, kind as u16)).copied().unwrap_or_default();
        let emitted = emitted[kind].load(Ordering::Relaxed);
        assert_eq!(counted.emitted, emitted, "{seed}: {scenario:?}");
        assert_eq!(counted.delivered, seen.kinds[kind], "{seed}: {scenario:?}");
        assert_eq!((counted.waiting, counted.dropped), (0, emitted - seen.kinds[kind]), "{seed}: {scenario:?}");
        assert!(!lossless || counted.dropped == 0, "{seed}: {scenario:?}");
    }
    assert_eq!((statistics.panics, seen.gaps), (0, 0), "{seed}: {scenario:?}");
    if let Some(file) = file {
        let recovery = recover(&file).expect("it is the file of a buffer").recovery;
        let total = statistics.total();
        assert_eq!((recovery.records, recovery.damage), (0, Vec::new()), "{seed}: {scenario:?}");
        assert_eq!((recovery.delivered, recovery.dropped), (total.delivered, total.dropped), "{seed}: {scenario:?}");
        std::fs::remove_file(file).expect("it was made");
    }
    statistics.total().emitted
}

fn check(batch: &Batch<'_>, seen: &mut Seen, lossless: bool) {
    let mut records = 0;
    for record in batch.records() {
        records += 1;
        let (thread, number) = of(&record);
        seen.kinds[usize::from(record.header().kind)] += 1;
        let next = &mut seen.next[thread];
        // Numbers are always in order, and without a gap if nothing may be dropped.
        if number < *next || (lossless && number != *next) {
            seen.gaps += 1;
        }
        *next = number + 1;
        let rest = &record.payload()[8..];
        assert!(rest.iter().all(|byte| *byte == number as u8), "a record is torn");
    }
    assert_eq!(records, batch.len());
}

/// Returns the thread and the number of a record.
fn of(record: &RecordRef<'_>) -> (usize, u64) {
    let word = u64::from_le_bytes(record.payload()[..8].try_into().expect("8 bytes"));
    ((word >> 48) as usize, word & 0xffff_ffff_ffff)
}

/// Emits the records of one thread number, on one thread or on several that follow each other.
fn produce(buffer: &Buffer, scenario: &Scenario, thread: u64, mut random: Random, emitted: &[AtomicU64; KINDS]) {
    let mut number = 0;
    while number < scenario.records_each {
        let end =
            if random.one_in(3) { number + 1 + random.below(scenario.records_each) } else { scenario.records_each };
        let end = end.min(scenario.records_each);
        let numbers = number..end;
        let random = Random(random.next() | 1);
        // Emits on a thread that ends. Its records come before those that are emitted after it was joined.
        thread::scope(|scope| {
            let run = scope.spawn(move || produce_on_this_thread(buffer, scenario, thread, numbers, random, emitted));
            run.join().expect("it emits");
        });
        number = end;
    }
}

fn produce_on_this_thread(
    buffer: &Buffer,
    scenario: &Scenario,
    thread: u64,
    numbers: std::ops::Range<u64>,
    mut random: Random,
    emitted: &[AtomicU64; KINDS],
) {
    let mut counts = [0; KINDS];
    let mut payload = vec![0; scenario.longest as usize];
    let (mut kind, mut length) = (0, 8);
    for number in numbers {
        if random.one_in(8) {
            kind = random.below(scenario.kinds);
            length = 8 + random.below(scenario.longest - 7) as usize;
        }
        payload[8..length].fill(number as u8);
        payload[..8].copy_from_slice(&(thread << 48 | number).to_le_bytes());
        if random.one_in(64) {
            let mut reserved = buffer.reserve(OURS, kind as u16, length).expect("it fits");
            reserved.copy_from_slice(&payload[..length]);
            reserved.commit().expect("it waits for room");
        } else {
            buffer.emit_bytes(OURS, kind as u16, &payload[..length]).expect("it waits for room");
        }
        counts[kind as usize] += 1;
        if random.one_in(512) {
            drop(buffer.reserve(OURS, kind as u16, length).expect("it fits"));
        }
        if random.one_in(20_000) {
            buffer.flush().expect("it is not destroyed");
        }
    }
    for (all, these) in emitted.iter().zip(counts) {
        all.fetch_add(these, Ordering::Relaxed);
    }
}

/// Does what other threads may do to a buffer meanwhile.
fn disturb(buffer: &Buffer, mut random: Random, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        match random.below(16) {
            0..8 => buffer.flush().expect("it is not destroyed"),
            // The delivery continues, however short the timeout is.
            8..10 => drop(buffer.flush_within(Duration::from_micros(random.below(100)))),
            10..15 => {
                let total = buffer.statistics().total();
                assert_eq!(total.emitted, total.delivered + total.dropped + total.waiting);
            }
            _ => buffer.assign(&CallbackThread::create("another")).expect("it is not destroyed"),
        }
    }
}

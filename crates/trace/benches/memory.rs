//! How much memory does a full buffer take, for records of different lengths and kinds?

use std::process::ExitCode;

use opscope_bench::{Case, Goal, Judged, Measured, decide, finish, times};
use opscope_trace::{Buffer, BufferOptions, Bytes, Category, Policy};

const MIB: f64 = (1 << 20) as f64;

fn main() -> ExitCode {
    let start = resident();
    // Each case has the length of its records, and the number of successive records of the same kind.
    for (case, size, length, run) in [
        ("resident memory, 64 MiB, 64-byte records", 64 << 20, 64, 64),
        ("resident memory, 64 MiB, 8-byte records", 64 << 20, 8, 64),
        ("resident memory, 64 MiB, 104-byte records", 64 << 20, 104, 64),
        ("resident memory, 8 MiB, 64 bytes, kinds alternate", 8 << 20, 64, 1),
    ] {
        let goal = Goal::AtMost(1.1 * size as f64 / MIB + 1.0);
        let mut grown = Vec::new();
        let judged = decide(goal, || {
            grown.extend((0..times(5, 1)).map(|_| filled(start, size, length, run)));
            Judged::alone(Measured::of(&grown))
        });
        let size = size as f64 / MIB;
        let peer = ("the configured size, MiB", size);
        Case { bench: "records", case: case.to_owned(), judged, unit: "MiB", peer, floor: Some(size), goal }.print();
    }
    finish()
}

/// Returns the resident MiB of a buffer after it was filled four times.
fn filled(start: f64, size: u64, length: usize, run: u64) -> f64 {
    // The last buffer is freed when its callback thread releases it.
    while resident() > start + 4.0 * MIB {
        std::thread::yield_now();
    }
    let before = resident();
    let options = BufferOptions {
        size: Bytes::new(size),
        watermark: Bytes::new(size),
        policy: Policy::Overwrite,
        ..BufferOptions::default()
    };
    let buffer = Buffer::create(options, |_| ()).expect("the options are valid");
    let (mut emitted, mut turn) = (0, 0);
    while emitted < 4 * size {
        let kind = (turn / run % 2) as u16;
        buffer.emit_bytes(Category(2), kind, &[0; 104][..length]).expect("the oldest give way");
        emitted += length.next_multiple_of(8) as u64;
        turn += 1;
    }
    (resident() - before) / MIB
}

/// Returns the resident bytes of this process, as the kernel counts them.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("a Linux has it");
    let line = text.lines().find(|line| line.starts_with("Rss:")).expect("it has this line");
    let kib: f64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib * 1024.0
}

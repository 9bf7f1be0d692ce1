//! Emits records for `scripts/count-instructions`, which counts what each of them executes.

use opscope_clock::Ticks;
use opscope_trace::{
    Buffer, BufferOptions, Context, DispatchRecord, Kind, Operations, current_correlation, current_thread, emit,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let records: u64 = std::env::args().nth(1).ok_or("the number of records is missing")?.parse()?;
    let buffer = Buffer::create(BufferOptions::default(), |_| ())?;
    let context = Context::create();
    for kind in [Kind::OperatorDispatch, Kind::Marker] {
        context.configure(kind, Operations::All, &buffer)?;
    }
    context.start()?;
    for number in 0..records {
        let now = Ticks::now();
        emit(&DispatchRecord {
            run: number,
            start: now,
            end: now,
            correlation: current_correlation(),
            thread: current_thread(),
            ..DispatchRecord::default()
        })?;
    }
    // This exits without destroying the buffer, because the cost of that does not depend on the records.
    std::process::exit(0);
}

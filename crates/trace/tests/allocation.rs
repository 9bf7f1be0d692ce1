//! A signal handler may interrupt the allocator. So a thread that has emitted into a buffer emits without the heap from
//! then on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Barrier;
use std::thread;

use opscope_trace::{
    Buffer, BufferOptions, Bytes, Category, Context, Kind, Operations, Policy, counter, intern, mark, mark_named,
};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the calls of each thread.
struct Counting;

// SAFETY: it forwards every call to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns how often `body` calls the allocator on this thread.
fn calls_of_the_allocator(body: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    body();
    CALLS.get() - before
}

#[test]
fn a_thread_that_has_emitted_emits_without_the_heap_also_under_the_lock() {
    const THREADS: usize = 3;
    for (size, watermark, policy) in [
        (1 << 20, 1 << 16, Policy::Lossless),
        (64 << 10, 512, Policy::Lossless),
        (4096, 0, Policy::Lossless),
        (4096, 4096, Policy::Discard),
        (64 << 10, 4096, Policy::Overwrite),
    ] {
        let options =
            BufferOptions { size: Bytes::new(size), watermark: Bytes::new(watermark), policy, ..Default::default() };
        let buffer = Buffer::create(options, |_| ()).expect("the options are valid");
        let all_have_emitted = Barrier::new(THREADS);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let emit = |kind| buffer.emit_bytes(Category(8), kind, &[0; 64]).expect("it waits or drops");
                    emit(0);
                    all_have_emitted.wait();
                    let calls = calls_of_the_allocator(|| (0..20_000).for_each(|number| emit(number % 3)));
                    assert_eq!(calls, 0, "{policy} {size} {watermark}");
                });
            }
        });
    }
}

#[test]
fn marks_and_counters_of_known_names_use_no_heap() {
    let buffer = Buffer::create(BufferOptions::default(), |_| ()).expect("the options are valid");
    let context = Context::create();
    for kind in [Kind::Marker, Kind::Counter] {
        context.configure(kind, Operations::All, &buffer).expect("it has no such kind yet");
    }
    context.start().expect("it is not destroyed");
    let name = intern("known");
    let mark_all = || {
        mark("known");
        mark_named(name);
        counter(name, 1.0);
    };
    mark_all();
    let calls = calls_of_the_allocator(|| (0..50_000).for_each(|_| mark_all()));
    assert_eq!(calls, 0);
    buffer.flush().expect("it is not destroyed");
    assert_eq!(buffer.statistics().total().delivered, 150_003);
}

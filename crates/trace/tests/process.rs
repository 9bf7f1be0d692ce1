//! Threads end, processes fork, exit and are killed. Each of these tests runs real processes.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opscope_trace::{
    Buffer, BufferOptions, Bytes, CallbackThread, Category, Context, CounterRecord, Kind, MarkerRecord, Operations,
    Policy, RecordRef, intern, open_ranges, range, recover, shutdown,
};

const OURS: Category = Category(9);
const SCENARIO: &str = "OPSCOPE_TRACE_SCENARIO";
const FILE: &str = "OPSCOPE_TRACE_FILE";

/// Starts this program with a scenario instead of the tests.
fn start(scenario: &str, file: &Path) -> Child {
    Command::new(std::env::current_exe().expect("a test is a program"))
        .args(["--exact", "the_process_of_a_scenario", "--ignored", "--nocapture", "--test-threads=1"])
        .env(SCENARIO, scenario)
        .env(FILE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Returns the lines with two colons that a scenario printed until it ended.
fn output(mut child: Child) -> Vec<String> {
    let mut text = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut text).expect("it is text");
    child.wait().expect("it was started");
    lines(&text)
}

fn lines(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.split_once("::")).map(|line| line.1.to_owned()).collect()
}

fn number(record: &RecordRef<'_>) -> u64 {
    u64::from_le_bytes(record.payload()[..8].try_into().expect("8 bytes"))
}

/// Returns a buffer that delivers only when it is flushed or destroyed, and then prints the number of records.
fn quiet_buffer(file: Option<&Path>) -> Buffer {
    let options = BufferOptions {
        size: Bytes::mib(1),
        watermark: Bytes::mib(1),
        file: file.map(Path::to_owned),
        ..BufferOptions::default()
    };
    Buffer::create(options, |batch| println!("::got {}", batch.records().count())).expect("the options are valid")
}

fn emit(buffer: &Buffer, numbers: std::ops::Range<u64>) {
    for number in numbers {
        buffer.emit_bytes(OURS, (number % 2) as u16, &number.to_le_bytes()).expect("there is room");
    }
}

#[test]
#[ignore = "the other tests start it"]
fn the_process_of_a_scenario() {
    let file = std::path::PathBuf::from(std::env::var_os(FILE).unwrap_or_default());
    match std::env::var(SCENARIO).as_deref() {
        Ok("exit") => {
            let buffer = quiet_buffer(None);
            emit(&buffer, 0..1000);
            std::mem::forget(buffer);
            std::process::exit(0);
        }
        Ok("exit in a callback") => {
            let buffer = Buffer::create(BufferOptions { watermark: Bytes::new(0), ..BufferOptions::default() }, |_| {
                println!("::called back");
                std::process::exit(0);
            });
            emit(&buffer.expect("the options are valid"), 0..1);
            loop {
                std::thread::park();
            }
        }
        Ok("exit while a callback hangs") => {
            let (entered, enters) = std::sync::mpsc::channel();
            let options = BufferOptions { watermark: Bytes::new(0), ..BufferOptions::default() };
            let buffer = Buffer::create(options, move |_| {
                entered.send(()).expect("the scenario receives");
                loop {
                    std::thread::park();
                }
            });
            let buffer = buffer.expect("the options are valid");
            emit(&buffer, 0..1);
            enters.recv().expect("the callback is called");
            println!("::exits");
            // Its drop would wait for the callback.
            std::mem::forget(buffer);
            std::process::exit(0);
        }
        Ok("shutdown") => {
            let quick = quiet_buffer(None);
            emit(&quick, 0..10);
            let (release, held) = std::sync::mpsc::channel::<()>();
            let options = BufferOptions { thread: CallbackThread::create("stuck"), ..BufferOptions::default() };
            let stuck = Buffer::create(options, move |_| assert!(held.recv().is_err())).expect("the options are valid");
            emit(&stuck, 0..1);
            let late = shutdown(Duration::from_millis(300));
            println!("::late {}\n::stuck {}", late.len(), late == [stuck.id()]);
            println!("::refused {}", quick.emit_bytes(OURS, 0, &[1]).is_err());
            drop(release);
        }
        Ok("fork") => fork(),
        Ok("fork while others are within") => fork_while_others_are_within(),
        Ok("forks in a storm") => forks_in_a_storm(),
        Ok("fork in a callback") => fork_in_a_callback(),
        Ok("fork in a callback that reads on") => fork_in_a_callback_that_reads_on(),
        Ok("fork during a reservation") => fork_during_a_reservation(&file),
        Ok("fork in a range") => fork_with_a_context(true),
        Ok("fork outside of ranges") => fork_with_a_context(false),
        Ok("killed") => {
            let buffer = quiet_buffer(Some(&file));
            let name = intern("a name in the file");
            buffer.emit(&CounterRecord { name, value: 2.5, ..CounterRecord::default() }).expect("there is room");
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let buffer = buffer.clone();
                    std::thread::spawn(move || {
                        emit(&buffer, thread * 10_000..thread * 10_000 + 3_000);
                        // The thread keeps its chunk: the records of a living thread survive, too.
                        println!("::emitted");
                        std::thread::park();
                    })
                })
                .collect();
            drop(threads);
            std::thread::park();
        }
        Ok("killed while it delivers") => {
            let options = BufferOptions {
                size: Bytes::kib(64),
                watermark: Bytes::kib(8),
                file: Some(file),
                ..BufferOptions::default()
            };
            let mut delivered = 0;
            let buffer = Buffer::create(options, move |batch| {
                delivered += batch.len();
                println!("::{delivered}");
            });
            emit(&buffer.expect("the options are valid"), 0..u64::MAX);
        }
        Ok("ended") => {
            let buffer = quiet_buffer(Some(&file));
            emit(&buffer, 0..100);
            buffer.destroy().expect("it is not destroyed");
        }
        other => panic!("there is no scenario {other:?}"),
    }
}

fn fork() {
    let buffer = quiet_buffer(None);
    // Another thread emits before, during and after the fork.
    let (done, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let emitting = {
        let (others, done, count) = (buffer.clone(), Arc::clone(&done), Arc::clone(&count));
        std::thread::spawn(move || {
            while !done.load(Ordering::SeqCst) {
                emit(&others, 0..10);
                count.fetch_add(10, Ordering::SeqCst);
            }
        })
    };
    let wait_for_1000_after = |from: u64| {
        while count.load(Ordering::SeqCst) < from + 1000 {
            std::thread::yield_now();
        }
    };
    wait_for_1000_after(0);
    // SAFETY: the child uses only this library, the allocator and standard output, which all support that.
    match unsafe { libc::fork() } {
        0 => {
            assert_eq!(buffer.statistics().total().emitted, 0, "the child's buffer is empty");
            emit(&buffer, 0..7);
            buffer.flush().expect("it is not destroyed");
            let total = buffer.statistics().total();
            println!("::child {} {}", total.emitted, total.delivered);
            buffer.destroy().expect("it is not destroyed");
            println!("::child is done");
            std::process::exit(0);
        }
        child => {
            let mut status = 0;
            // SAFETY: `child` is this process's child, and `status` is a place for an int.
            unsafe { libc::waitpid(child, &mut status, 0) };
            println!("::status {status}");
            wait_for_1000_after(count.load(Ordering::SeqCst));
            done.store(true, Ordering::SeqCst);
            emitting.join().expect("it emits to the end");
            emit(&buffer, 0..3);
            buffer.flush().expect("it is not destroyed");
            assert_eq!(buffer.statistics().total().delivered, count.load(Ordering::SeqCst) + 3);
            println!("::parent is done");
            std::process::exit(0);
        }
    }
}

/// Forks while one thread is in its callback and another one waits for space. The child immediately has a buffer that
/// is usable or destroyed, and the parent continues.
fn fork_while_others_are_within() {
    let (entered, enters) = std::sync::mpsc::channel();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let options = BufferOptions { size: Bytes::new(512), watermark: Bytes::new(8), ..BufferOptions::default() };
    let buffer = Buffer::create(options, move |_| {
        entered.send(()).expect("the test receives");
        // The callback is released for good once the parent has forked.
        let _ = held.recv();
    })
    .expect("the options are valid");
    let others = buffer.clone();
    let emitting = std::thread::spawn(move || emit(&others, 0..1000));
    enters.recv().expect("the first record is called back");
    while buffer.statistics().stalls == 0 {
        std::thread::yield_now();
    }
    // SAFETY: as above.
    match unsafe { libc::fork() } {
        0 => {
            println!("::child {}", buffer.emit_bytes(OURS, 0, &[1]).is_err());
            std::process::exit(0);
        }
        child => {
            let mut status = 0;
            // SAFETY: as above.
            unsafe { libc::waitpid(child, &mut status, 0) };
            println!("::status {status}");
            drop(release);
            emitting.join().expect("it gets its room");
            buffer.flush().expect("it is not destroyed");
            println!("::parent {}", buffer.statistics().total().delivered);
            std::process::exit(0);
        }
    }
}

/// Forks a process whose threads emit without a pause, into a small buffer and into a large one, with callbacks in
/// quick succession.
fn forks_in_a_storm() {
    let small = BufferOptions { size: Bytes::kib(16), watermark: Bytes::kib(2), ..BufferOptions::default() };
    let lost = forks_while_others_emit(small, 30) + forks_while_others_emit(BufferOptions::default(), 100);
    println!("::lost {lost}");
    std::process::exit(0);
}

/// Returns how many children failed, and how many records were lost.
fn forks_while_others_emit(options: BufferOptions, forks: usize) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let buffer = Buffer::create(options, move |batch| {
        counted.fetch_add(batch.len(), Ordering::SeqCst);
    });
    let buffer = buffer.expect("the options are valid");
    let (done, mut failed) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    emit(&buffer, 0..100);
                }
            });
        }
        for _ in 0..forks {
            // SAFETY: as above.
            match unsafe { libc::fork() } {
                0 => {
                    let emitted = (0..5000_u64).all(|number| buffer.emit_bytes(OURS, 0, &number.to_le_bytes()).is_ok());
                    let fine = emitted && buffer.flush().is_ok() && buffer.statistics().total().delivered == 5000;
                    // SAFETY: this copy of the process is no longer needed.
                    unsafe { libc::_exit(if fine { 0 } else { 1 }) }
                }
                child => {
                    let mut status = 0;
                    // SAFETY: as above.
                    unsafe { libc::waitpid(child, &mut status, 0) };
                    failed += u64::from(status != 0);
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    buffer.flush().expect("it is not destroyed");
    let total = buffer.statistics().total();
    let callbacks = count.load(Ordering::SeqCst);
    failed + total.emitted - total.delivered + callbacks - total.delivered
}

fn fork_in_a_callback() {
    let options = BufferOptions { watermark: Bytes::new(8), ..BufferOptions::default() };
    let buffer = Buffer::create(options, |_| {
        // SAFETY: as above.
        match unsafe { libc::fork() } {
            0 => std::process::exit(0),
            child => {
                let mut status = 0;
                // SAFETY: as above.
                unsafe { libc::waitpid(child, &mut status, 0) };
                println!("::status {status}");
            }
        }
    })
    .expect("the options are valid");
    emit(&buffer, 0..1);
    buffer.destroy().expect("it is not destroyed");
    println!("::done");
    std::process::exit(0);
}

/// The child has the callback's batch, too, although its own buffer is empty.
fn fork_in_a_callback_that_reads_on() {
    let options = BufferOptions { watermark: Bytes::new(800), ..BufferOptions::default() };
    let buffer = Buffer::create(options, |batch| {
        // SAFETY: as above.
        match unsafe { libc::fork() } {
            0 => {
                let right = batch.records().map(|record| number(&record)).eq(0..100);
                // SAFETY: this copy of the process is no longer needed.
                unsafe { libc::_exit(if right { 0 } else { 1 }) }
            }
            child => {
                let mut status = 0;
                // SAFETY: as above.
                unsafe { libc::waitpid(child, &mut status, 0) };
                println!("::status {status}");
            }
        }
    })
    .expect("the options are valid");
    emit(&buffer, 0..100);
    buffer.flush().expect("it is not destroyed");
    println!("::done");
    std::process::exit(0);
}

/// Both processes finish the record: each into its own buffer.
fn fork_during_a_reservation(file: &Path) {
    let options = BufferOptions { file: Some(file.to_owned()), ..BufferOptions::default() };
    let buffer = Buffer::create(options, |batch| {
        let payloads: Vec<u8> = batch.records().flat_map(|record| record.payload().to_vec()).collect();
        println!("::got {payloads:?}");
    })
    .expect("the options are valid");
    // From here on the thread has a chunk, in which the record is built.
    emit(&buffer, 0..1);
    buffer.flush().expect("it is not destroyed");
    let mut record = buffer.reserve(OURS, 1, 2).expect("there is room");
    record[0] = 7;
    // SAFETY: as above.
    let child = unsafe { libc::fork() };
    if child == 0 {
        record.copy_from_slice(&[5, 8]);
    } else {
        record[1] = 9;
        let mut status = 0;
        // SAFETY: as above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        println!("::status {status}");
    }
    record.commit().expect("there is room");
    buffer.flush().expect("it is not destroyed");
    std::process::exit(0);
}

/// Prints, in both processes, which open ranges there are and whether each is on the thread that the process has.
fn fork_with_a_context(in_a_range: bool) {
    let buffer = quiet_buffer(None);
    let context = Context::create();
    context.configure(Kind::Marker, Operations::All, &buffer).expect("it is free");
    context.start().expect("it is not destroyed");
    let _range = in_a_range.then(|| range("around the fork"));
    // SAFETY: as above.
    let child = unsafe { libc::fork() };
    // SAFETY: it has no arguments and no side effects.
    let this_thread = || unsafe { libc::gettid() }.unsigned_abs();
    let is_own = |record: &MarkerRecord| record.thread.0 == this_thread();
    let who = if child == 0 { "child" } else { "parent" };
    if child != 0 {
        let mut status = 0;
        // SAFETY: as above.
        unsafe { libc::waitpid(child, &mut status, 0) };
    }
    println!("::{who} {:?}", open_ranges().records.iter().map(is_own).collect::<Vec<_>>());
    // SAFETY: neither copy of the process is needed any more.
    unsafe { libc::_exit(0) }
}

#[test]
fn a_process_that_exits_without_a_shutdown_delivers_what_it_has() {
    assert_eq!(output(start("exit", Path::new(""))), ["got 1000"]);
}

#[test]
fn a_process_that_exits_while_a_callback_hangs_waits_some_seconds_for_it() {
    let begin = Instant::now();
    assert_eq!(output(start("exit while a callback hangs", Path::new(""))), ["exits"]);
    // Five seconds in real time, plus what starting a process takes on a busy machine.
    let took = begin.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_secs(40)).contains(&took), "{took:?}");
}

#[test]
fn a_callback_may_end_the_process() {
    assert_eq!(output(start("exit in a callback", Path::new(""))), ["called back"]);
}

#[test]
fn the_child_of_a_fork_starts_with_an_empty_buffer_that_works_and_the_parent_keeps_its_own() {
    let output = output(start("fork", Path::new("")));
    for line in ["got 7", "child 7 7", "child is done", "status 0", "parent is done"] {
        assert!(output.contains(&line.to_owned()), "{line}: {output:?}");
    }
}

#[test]
fn a_fork_while_another_thread_is_in_its_callback_and_one_waits_for_room_leaves_both_processes_going() {
    let output = output(start("fork while others are within", Path::new("")));
    assert_eq!(
        output,
        ["child true", "status 0", "parent 1000"],
        "the child's buffer is destroyed, as it is documented"
    );
}

#[test]
fn forks_in_the_middle_of_anything_harm_neither_the_parent_nor_the_child() {
    assert_eq!(output(start("forks in a storm", Path::new(""))), ["lost 0"]);
}

#[test]
fn a_callback_may_fork() {
    assert_eq!(output(start("fork in a callback", Path::new(""))), ["status 0", "done"]);
}

#[test]
fn the_child_of_a_fork_in_a_callback_may_read_the_batch() {
    assert_eq!(output(start("fork in a callback that reads on", Path::new(""))), ["status 0", "done"]);
}

#[test]
fn a_record_that_is_being_built_at_a_fork_is_finished_by_both_processes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = output(start("fork during a reservation", &folder.path().join("records")));
    assert_eq!(output, ["got [0, 0, 0, 0, 0, 0, 0, 0]", "got [5, 8]", "status 0", "got [7, 9]"]);
}

#[test]
fn a_range_that_is_open_at_a_fork_is_on_the_childs_own_thread_in_the_child() {
    assert_eq!(output(start("fork in a range", Path::new(""))), ["child [true]", "parent [true]"]);
}

#[test]
fn a_thread_that_never_opened_a_range_forks_with_a_started_context() {
    assert_eq!(output(start("fork outside of ranges", Path::new(""))), ["child []", "parent []"]);
}

#[test]
fn every_record_of_a_killed_process_is_in_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("records");
    let mut child = start("killed", &file);
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    for _ in 0..4 {
        lines.by_ref().find(|line| line.contains("::emitted")).expect("each thread says so");
    }
    child.kill().expect("it runs");
    child.wait().expect("it was started");

    let recovered = recover(&file).expect("it is the file of a buffer");
    assert_eq!(recovered.recovery.damage, []);
    assert_eq!((recovered.recovery.records, recovered.recovery.dropped), (12_001, 0));
    assert_eq!(recovered.recovery.process, child.id());
    assert!(!recovered.recovery.ended);
    let mut numbers: Vec<u64> = Vec::new();
    for record in recovered.records() {
        match record.get::<CounterRecord>() {
            Some(counter) => {
                assert_eq!(record.kind(), Some(Kind::Counter));
                assert_eq!(counter.value, 2.5);
                assert_eq!(recovered.recovery.names[&counter.name], "a name in the file");
            }
            None => numbers.push(number(&record)),
        }
    }
    for thread in 0..4 {
        let of_thread: Vec<u64> = numbers.iter().copied().filter(|number| number / 10_000 == thread).collect();
        assert_eq!(of_thread, (thread * 10_000..thread * 10_000 + 3_000).collect::<Vec<_>>());
    }
}

#[test]
fn a_process_killed_while_it_delivers_loses_nothing_between_its_last_callback_and_its_last_record() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for round in 0..5 {
        let file = folder.path().join(format!("records-{round}"));
        let mut child = start("killed while it delivers", &file);
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        for _ in 0..50 + round * 37 {
            lines.next().expect("it continues until it is killed");
        }
        child.kill().expect("it runs");
        child.wait().expect("it was started");

        let recovered = recover(&file).expect("it is the file of a buffer");
        assert_eq!(recovered.recovery.damage, []);
        let numbers: Vec<u64> = recovered.records().map(|record| number(&record)).collect();
        let first = recovered.recovery.delivered;
        // A callback may have returned without being noted. Then its records are here once more, but none is missing.
        let start = numbers.first().copied().unwrap_or(first);
        assert!(start <= first + 1024 && first <= start + 1024, "{start} follows {first}");
        assert!(numbers.iter().copied().eq(start..start + numbers.len() as u64), "no record is missing between");
    }
}

#[test]
fn a_buffer_that_ended_in_order_leaves_a_file_that_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("records");
    assert_eq!(output(start("ended", &file)), ["got 100"]);
    let recovered = recover(&file).expect("it is the file of a buffer");
    assert!(recovered.recovery.ended);
    assert_eq!((recovered.recovery.records, recovered.recovery.delivered), (0, 100));
}

#[test]
fn a_file_that_exists_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("precious");
    std::fs::write(&file, "precious").expect("it can be written");
    let options = BufferOptions { file: Some(file.clone()), ..BufferOptions::default() };
    Buffer::create(options, |_| ()).expect_err("the file is there already");
    assert_eq!(std::fs::read(file).expect("it is not destroyed"), b"precious");
}

#[test]
fn a_thread_that_ends_leaves_its_records_and_gives_its_room_back() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let options = BufferOptions {
        size: Bytes::new(4096),
        watermark: Bytes::new(4096),
        policy: Policy::Discard,
        ..BufferOptions::default()
    };
    let buffer = Buffer::create(options, move |batch| sender.send(batch.len()).expect("the test receives"))
        .expect("the options are valid");
    for thread in 0..200 {
        let buffer = buffer.clone();
        std::thread::spawn(move || emit(&buffer, thread..thread + 1)).join().expect("it emits");
    }
    emit(&buffer, 200..512);
    assert_eq!(buffer.statistics().total().dropped, 0, "200 threads that are gone hold nothing");
    buffer.flush().expect("it is not destroyed");
    assert_eq!(receiver.try_iter().sum::<u64>(), 512);
}

#[test]
fn a_shutdown_delivers_what_it_can_and_names_the_buffers_that_were_not_done() {
    assert_eq!(output(start("shutdown", Path::new(""))), ["got 10", "late 1", "stuck true", "refused true"]);
}

//! The server for cuda-gdb's pipes, tested by a client that writes what cuda-gdb writes, and the process that cuda-gdb
//! traces.

mod client;
mod hostile;
mod stand_in;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use opscope_cudbg::addresses;
use opscope_debug::{ModelId, Moment};
use opscope_model::Fidelity;

use super::debuggee::{Debuggee, Done, Lines};
use client::{Idle, Session, command, long, numbers};

/// Kinds of events.
const ELF_IMAGE_LOADED: u32 = 0x01;
const CTX_CREATE: u32 = 0x07;
const ATTACH_COMPLETE: u32 = 0x0a;
const DETACH_COMPLETE: u32 = 0x0b;

/// The operator `log` of the debuggee.
fn log_address(moment: Moment) -> u64 {
    addresses::operator(ModelId(1), 1, moment)
}

/// Opens the session, as cuda-gdb 11.8 does.
fn initialize(session: &mut Session) {
    let version = session.ask(command::INITIALIZE, &numbers(&[11, 8, 132]));
    assert_eq!(version, numbers(&[13, 4, 193]));
}

/// Returns the address of a value in the image, which is that of its symbol.
fn symbol(image: &[u8], wanted: &str) -> u64 {
    let half = |at: usize| u16::from_le_bytes([image[at], image[at + 1]]) as usize;
    let word = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().expect("four bytes")) as usize;
    let sections = long(image, 40) as usize;
    let header = |index: usize| sections + index * half(58);
    let place = |at: usize| long(image, at + 24) as usize;
    let table = (0..half(60)).map(header).find(|at| word(at + 4) == 2).expect("a table of symbols");
    let names = place(header(word(table + 40)));
    let symbols = (0..long(image, table + 32) as usize / 24).map(|index| place(table) + index * 24);
    let name = |at: usize| image[names + word(at)..].split(|byte| *byte == 0).next();
    let found = symbols.into_iter().find(|at| name(*at) == Some(wanted.as_bytes())).expect("the symbol");
    long(image, found + 8)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
}

/// Takes the events for the existing model, and returns its image.
fn take_model(session: &mut Session, program: &Idle, end: &[u32]) -> Vec<u8> {
    let events = session.events();
    let kinds: Vec<u32> = events.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [&[CTX_CREATE, ELF_IMAGE_LOADED][..], end].concat());
    let create = &events[0].1;
    assert_eq!(create[4..8], program.pid().to_ne_bytes(), "the thread is that of the traced process");
    let loaded = &events[1].1;
    let (size, handle) = (long(loaded, 20), long(loaded, 28));
    let wanted = [&numbers(&[0])[..], &handle.to_ne_bytes(), &numbers(&[1]), &size.to_ne_bytes()].concat();
    let image = session.ask(command::GET_ELF_IMAGE_BY_HANDLE, &wanted);
    assert!(image.len() as u64 == size && image.starts_with(b"\x7fELF"));
    image
}

/// Waits until a breakpoint has stopped a run. Earlier notifications may have come.
fn wait_for_stop(session: &mut Session, program: &Idle) {
    loop {
        assert_eq!(session.notice()[..2], [program.pid(), 0]);
        match session.try_ask(command::READ_BROKEN_WARPS, &numbers(&[0, 0])).expect("the server answers") {
            (0, mask) => return assert_eq!(long(&mask, 0), 1),
            (result, _) => assert_eq!(result, 0x10, "the device runs"),
        }
    }
}

#[test]
fn a_session_over_the_pipes_stops_looks_changes_steps_and_detaches() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let (mut session, program) = (Session::new(), Idle::new());
    let server = session.serve(&debuggee, &program, false);
    initialize(&mut session);
    assert_eq!(session.ask(command::GET_NUM_LANES, &numbers(&[0])), numbers(&[32]));
    assert_eq!(session.ask(command::GET_SM_TYPE, &numbers(&[0, 8])), b"sm_75\0\0\0");
    session.ask(command::SET_KERNEL_LAUNCH_NOTIFICATION_MODE, &numbers(&[1]));
    // A debugger that has started the program receives no event that says that it has attached.
    let image = take_model(&mut session, &program, &[]);
    let (log, a) = (log_address(Moment::Before), symbol(&image, "a"));
    assert_eq!(symbol(&image, "log"), log);
    session.ask(command::SET_BREAKPOINT, &[&numbers(&[0])[..], &log.to_ne_bytes()].concat());
    session.ask(command::ACKNOWLEDGE_SYNC_EVENTS, &[]);

    let server = thread::scope(|scope| {
        // If a check fails, the server ends before the test waits for the run.
        let server = server;
        let run = scope.spawn(|| lines.run(&debuggee, 1).expect("the run succeeds"));
        wait_for_stop(&mut session, &program);
        assert_eq!(session.try_ask(command::SUSPEND_DEVICE, &numbers(&[0])).map(|(result, _)| result), Some(0x0f));
        assert_eq!(long(&session.ask(command::READ_BROKEN_WARPS, &numbers(&[0, 0])), 0), 1);
        let lane = numbers(&[0, 0, 0, 0]);
        assert_eq!(long(&session.ask(command::READ_VIRTUAL_PC, &lane), 0), log);
        let grid = session.ask(command::READ_GRID_ID, &numbers(&[0, 0, 0]));
        let state = session.ask(command::READ_WARP_STATE60, &numbers(&[0, 0, 0]));
        assert_eq!(
            (state.len(), &state[..8], &state[28..32], long(&state, 40)),
            (808, &grid[..], &[1, 0, 0, 0][..], log)
        );
        let info = session.ask(command::GET_GRID_INFO55, &[&numbers(&[0])[..], &grid].concat());
        assert_eq!((info.len(), &info[12..16]), (88, &program.pid().to_ne_bytes()[..]));
        assert_eq!(session.ask(command::READ_REGISTER, &numbers(&[0, 0, 0, 0, 3])), [0; 4]);
        assert_eq!(session.ask(command::READ_REGISTER_RANGE, &numbers(&[0, 0, 0, 0, 0, 4])), [0; 16]);

        let read = [&lane[..], &a.to_ne_bytes(), &numbers(&[16])].concat();
        assert_eq!(floats(&session.ask(command::READ_GENERIC_MEMORY, &read)), [2.0, 4.0, 6.0, 8.0]);
        // A failure has outputs too, and its text can be asked for.
        let beyond = [&a.to_ne_bytes()[..], &numbers(&[17])].concat();
        let failed = session.try_ask(command::READ_GLOBAL_MEMORY, &beyond);
        assert_eq!(failed, Some((0x08, vec![0; 17])));
        let text = session.ask(command::GET_ERROR_STRING_EX, &[]);
        assert_eq!(text[..4], (text.len() as u32 - 4).to_ne_bytes());
        assert!(String::from_utf8_lossy(&text[4..]).contains("the tensor has 16 bytes"), "{text:?}");
        assert_eq!(
            session.try_ask(command::READ_SHARED_MEMORY, &[&numbers(&[0, 0, 0])[..], &[0; 8], &numbers(&[5])].concat()),
            Some((0x2e, vec![0; 5]))
        );

        let write = [&(a + 4).to_ne_bytes()[..], &numbers(&[4]), &1f32.to_le_bytes()].concat();
        session.ask(command::WRITE_GLOBAL_MEMORY, &write);
        assert_eq!(long(&session.ask(command::SINGLE_STEP_WARP65, &numbers(&[0, 0, 0, 1])), 0), 1);
        assert_eq!(long(&session.ask(command::READ_VIRTUAL_PC, &lane), 0), log_address(Moment::After));
        session.ask(command::RESUME_DEVICE, &numbers(&[0]));
        let mut expected = Lines::expected();
        // The logarithm of 1 is 0.
        expected[1] = 4.0;
        assert_eq!(run.join().expect("the run ends"), expected);
        server
    });

    session.ask(command::SUSPEND_DEVICE, &numbers(&[0]));
    session.ask(command::REQUEST_CLEANUP_ON_DETACH, &numbers(&[1]));
    while !session.events().iter().any(|(kind, _)| *kind == DETACH_COMPLETE) {
        session.notice();
    }
    // This is what cuda-gdb still does before the end. The traced process is stopped again immediately.
    program.stop();
    session.ask(command::RESUME_DEVICE, &numbers(&[0]));
    session.ask(command::SUSPEND_DEVICE, &numbers(&[0]));
    assert_eq!(long(&session.ask(command::READ_BROKEN_WARPS, &numbers(&[0, 0])), 0), 0);
    program.go_on();
    session.ask(command::SET_KERNEL_LAUNCH_NOTIFICATION_MODE, &numbers(&[1]));
    session.ask(command::RESUME_DEVICE, &numbers(&[0]));
    assert_eq!(lines.run(&debuggee, 2).expect("the run succeeds"), Lines::expected());
    session.ask(command::FINALIZE, &[]);
    while session.notice() != [0, 1, 0] {}
    let ended = server.end();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
    assert_eq!(debuggee.log(), "");
}

#[test]
fn a_device_is_resumed_when_the_traced_process_is_and_not_while_a_function_is_called_there() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let (mut session, program) = (Session::new(), Idle::new());
    let server = session.serve(&debuggee, &program, false);
    initialize(&mut session);
    take_model(&mut session, &program, &[]);
    session.ask(command::SET_KERNEL_LAUNCH_NOTIFICATION_MODE, &numbers(&[1]));
    let log = log_address(Moment::Before).to_ne_bytes();
    session.ask(command::SET_BREAKPOINT, &[&numbers(&[0])[..], &log].concat());
    session.ask(command::ACKNOWLEDGE_SYNC_EVENTS, &[]);
    let server = thread::scope(|scope| {
        let server = server;
        let run = scope.spawn(|| lines.run(&debuggee, 1).expect("the run succeeds"));
        wait_for_stop(&mut session, &program);
        // The process stays stopped until the debugger continues it.
        program.stop();
        session.ask(command::RESUME_DEVICE, &numbers(&[0]));
        session.ask(command::SUSPEND_DEVICE, &numbers(&[0]));
        // The run is where it was, and the breakpoint is not hit again.
        assert_eq!(long(&session.ask(command::READ_BROKEN_WARPS, &numbers(&[0, 0])), 0), 0);
        assert_eq!(session.ask(command::READ_VIRTUAL_PC, &numbers(&[0, 0, 0, 0])), log);
        session.ask(command::RESUME_DEVICE, &numbers(&[0]));
        program.go_on();
        assert_eq!(run.join().expect("the run ends"), Lines::expected());
        server
    });
    session.ask(command::FINALIZE, &[]);
    assert!(server.end().status.success());
}

#[test]
fn a_program_that_runs_without_a_pause_is_seen_in_a_run_whenever_it_is_suspended() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let (mut session, program) = (Session::new(), Idle::new());
    let server = session.serve(&debuggee, &program, false);
    initialize(&mut session);
    take_model(&mut session, &program, &[]);
    session.ask(command::SET_KERNEL_LAUNCH_NOTIFICATION_MODE, &numbers(&[1]));
    session.ask(command::ACKNOWLEDGE_SYNC_EVENTS, &[]);
    let (is_done, has_begun) = (AtomicBool::new(false), AtomicBool::new(false));
    let server = thread::scope(|scope| {
        let _done = Done(&is_done);
        let server = server;
        scope.spawn(|| {
            for run in 1.. {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                assert_eq!(lines.run(&debuggee, run).expect("the run succeeds"), Lines::expected());
                has_begun.store(true, Ordering::Relaxed);
            }
        });
        while !has_begun.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let mut seen = 0;
        for _ in 0..20 {
            session.ask(command::SUSPEND_DEVICE, &numbers(&[0]));
            seen += long(&session.ask(command::READ_VALID_WARPS, &numbers(&[0, 0])), 0);
            session.ask(command::RESUME_DEVICE, &numbers(&[0]));
        }
        // For a moment, no run is in progress between two runs.
        assert!(seen >= 18, "{seen} of 20");
        server
    });
    session.ask(command::FINALIZE, &[]);
    assert!(server.end().status.success());
}

#[test]
fn a_debugger_that_attaches_is_told_when_it_has_all_that_was_there() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let (mut session, program) = (Session::new(), Idle::new());
    let server = session.serve(&debuggee, &program, true);
    initialize(&mut session);
    take_model(&mut session, &program, &[ATTACH_COMPLETE]);
    session.ask(command::FINALIZE, &[]);
    assert!(server.end().status.success());
    // The next debugger finds the same state.
    let mut next = Session::new();
    let server = next.serve(&debuggee, &program, true);
    initialize(&mut next);
    take_model(&mut next, &program, &[ATTACH_COMPLETE]);
    next.ask(command::FINALIZE, &[]);
    assert!(server.end().status.success());
}

#[test]
fn a_program_that_starts_later_is_waited_for_and_one_that_ends_without_a_debug_server_is_not() {
    let (session, program) = (Session::new(), Idle::new());
    let directory = tempfile::TempDir::new().expect("a directory");
    let mut server = session.server(program.pid(), directory.path().join("none").to_str().expect("UTF-8"), false);
    // A debugger finds nothing that it could mistake for a server and wait for.
    assert!(server.is_running() && !session.place().join("pipe.1000.999").exists());
    program.end();
    let ended = server.end();
    assert!(!ended.status.success() && !session.place().join("pipe.1000.999").exists());
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("cuda-gdb is not served: the program has ended"), "{said}");
}

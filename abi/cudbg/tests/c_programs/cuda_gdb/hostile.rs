//! Everything that comes over the pipes is answered, or ends the server. The server never outlives its session.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::thread;

use opscope_debug::Moment;
use opscope_model::Fidelity;

use super::super::debuggee::{Debuggee, Lines};
use super::client::{Idle, Server, Session, command, message, numbers};
use super::{initialize, log_address, wait_for_stop};

/// The commands of cuda-gdb have numbers below this.
const COMMANDS: u32 = 113;

/// Arguments that no function of the table takes.
fn wild() -> Vec<Vec<u8>> {
    let large = [&numbers(&[0; 6])[..], &[0xff; 8], &numbers(&[0x7fff_ffff]), &[0xff; 24]].concat();
    vec![Vec::new(), vec![0; 4], vec![0; 64], vec![0xff; 7], vec![0xff; 64], numbers(&[0, 0, 0, 0, 0, 1 << 20]), large]
}

/// Waits until a server has ended by itself: neither killed by a signal, nor hanging.
#[track_caller]
fn ends(server: Server) -> String {
    let ended = server.end();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.signal().is_none() && !said.contains("panicked"), "{ended:?}");
    said
}

#[test]
fn every_command_with_any_arguments_is_answered_or_ends_the_server() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let program = Idle::new();
    let mut answered = 0;
    let mut left: Vec<(u32, Vec<u8>)> =
        (0..COMMANDS + 5).flat_map(|number| wild().into_iter().map(move |arguments| (number, arguments))).collect();
    left.extend([(u32::MAX, Vec::new()), (1 << 31, vec![0xff; 64])]);
    left.reverse();
    while !left.is_empty() {
        let mut session = Session::new();
        let server = session.serve(&debuggee, &program, false);
        initialize(&mut session);
        while let Some((number, arguments)) = left.pop() {
            // The commands that end a session may end the server.
            let is_last = [command::FINALIZE, command::REQUEST_CLEANUP_ON_DETACH].contains(&number);
            match session.try_ask(number, &arguments) {
                Some((result, _)) => {
                    answered += 1;
                    assert!(number < COMMANDS || result == 3, "{number} is not a command");
                }
                None => break,
            }
            if is_last {
                break;
            }
        }
        session.hang_up();
        ends(server);
    }
    assert!(answered > 500, "{answered}");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
}

#[test]
fn a_message_with_an_impossible_size_ends_the_server_and_the_program_goes_on() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let program = Idle::new();
    for size in [0, 8, 15, 1 << 40, u64::MAX] {
        let mut session = Session::new();
        let server = session.serve(&debuggee, &program, false);
        session.write(&size.to_ne_bytes());
        let said = ends(server);
        assert!(said.contains(&format!("a message says that it has {size} bytes")), "{said}");
    }
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
}

#[test]
fn more_outputs_than_any_debugger_wants_are_not_made() {
    let debuggee = Debuggee::new();
    let program = Idle::new();
    let mut session = Session::new();
    let server = session.serve(&debuggee, &program, false);
    initialize(&mut session);
    let wanted = [&[0; 8][..], &numbers(&[u32::MAX])].concat();
    assert_eq!(session.try_ask(command::READ_GLOBAL_MEMORY, &wanted), None);
    let said = ends(server);
    assert!(said.contains("4294967295 times 1 bytes were asked for"), "{said}");
}

#[test]
fn a_debugger_that_is_gone_in_the_middle_of_anything_lets_the_program_go_on() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let program = Idle::new();
    // The debugger closes the pipe before it has written anything, in the middle of a message, or while a run is
    // stopped.
    for written in [Vec::new(), message(command::INITIALIZE, &[])[..11].to_vec()] {
        let mut session = Session::new();
        let server = session.serve(&debuggee, &program, false);
        session.write(&written);
        session.hang_up();
        assert_eq!(ends(server), "");
    }
    let mut session = Session::new();
    let server = session.serve(&debuggee, &program, false);
    initialize(&mut session);
    session.events();
    let breakpoint = [&numbers(&[0])[..], &log_address(Moment::Before).to_ne_bytes()].concat();
    session.ask(command::SET_BREAKPOINT, &breakpoint);
    session.ask(command::SET_KERNEL_LAUNCH_NOTIFICATION_MODE, &numbers(&[1]));
    session.ask(command::ACKNOWLEDGE_SYNC_EVENTS, &[]);
    let server = thread::scope(|scope| {
        let server = server;
        let run = scope.spawn(|| lines.run(&debuggee, 1).expect("the run succeeds"));
        wait_for_stop(&mut session, &program);
        session.hang_up();
        assert_eq!(run.join().expect("the run ends"), Lines::expected());
        server
    });
    assert_eq!(ends(server), "");
}

#[test]
fn a_debugger_that_is_killed_ends_the_server_though_its_pipes_stay_open() {
    let debuggee = Debuggee::new();
    let (debugger, program) = (Idle::new(), Idle::new());
    let mut session = Session::of(debugger.pid());
    let server = session.serve(&debuggee, &program, false);
    initialize(&mut session);
    debugger.end();
    assert_eq!(ends(server), "");
}

#[test]
fn a_program_that_is_gone_ends_the_server_after_a_while_in_which_the_debugger_may_end_it() {
    let debuggee = Debuggee::new();
    let program = Idle::new();
    let mut session = Session::new();
    let server = session.serve(&debuggee, &program, false);
    initialize(&mut session);
    program.end();
    // A debugger that writes into a pipe without a reader is killed by a signal.
    session.ask(command::GET_NUM_LANES, &numbers(&[0]));
    assert_eq!(ends(server), "");
}

#[test]
fn what_is_no_pipe_or_no_session_is_refused() {
    let debuggee = Debuggee::new();
    let program = Idle::new();
    let session = Session::new();
    fs::write(session.place().join("pipe.1000.999"), "a file").expect("a file");
    let said = ends(session.server(program.pid(), debuggee.target().1, false));
    assert!(said.contains("pipe.1000.999 is not a pipe"), "{said}");
    fs::remove_file(session.place().join("pipe.1000.999")).expect("the file");
    std::os::unix::fs::symlink("/dev/null", session.place().join("pipe.1000.999")).expect("a link");
    let said = ends(session.server(program.pid(), debuggee.target().1, false));
    assert!(said.contains("cannot be used"), "{said}");
    fs::remove_dir_all(session.place()).expect("the directory");
    let said = ends(session.server(program.pid(), debuggee.target().1, false));
    assert!(said.contains("has no directory cuda-dbg/"), "{said}");
}

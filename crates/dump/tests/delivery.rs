//! The delivery of streams to sinks: pieces, answers, full queues, and sinks that stall, are slow, fail or panic.

mod chain;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use chain::chain_of;
use opscope_clock::{Clock, ManualClock};
use opscope_dump::{Answer, Delivery, DumpError, Dumper, Ending, Flow, Handle, Piece, Policy, Request, Sink, Stream};
use opscope_tensor::Digest;
use proptest::prelude::*;

/// A stream as a sink saw it.
struct SeenStream {
    /// The operator's name.
    name: String,
    /// The number of bytes that were announced.
    bytes: u64,
    /// The offset and length of each piece, and whether it is the last.
    pieces: Vec<(u64, usize, bool)>,
    /// The bytes of all pieces, one after the other.
    content: Vec<u8>,
}

impl SeenStream {
    /// Returns whether it came in order, without a gap, with one last piece, and with the bytes that the operator
    /// computed.
    fn is_whole(&self) -> bool {
        let elements = match self.name.as_str() {
            "last" => vec![0.5, f32::NAN],
            // Each operator of the chain adds one to zeros.
            name => {
                let operator = NAMES.iter().position(|known| *known == name).expect("it is one of the chain's");
                vec![operator as f32 + 1.0; self.bytes as usize / 4]
            }
        };
        let computed: Vec<u8> = elements.into_iter().flat_map(f32::to_le_bytes).collect();
        let mut next = 0;
        let in_order = self.pieces.iter().all(|&(offset, length, last)| {
            let follows = offset == next;
            next += length as u64;
            follows && last == (next == self.bytes)
        });
        in_order && next == self.bytes && self.content == computed
    }
}

/// The streams and calls that a recording sink saw.
#[derive(Default)]
struct Seen {
    streams: Vec<SeenStream>,
    broken: usize,
    closed: bool,
}

/// A sink that records its calls, and does something at every piece.
struct Recorder<F> {
    seen: Arc<Mutex<Seen>>,
    at_piece: F,
}

impl<F: FnMut(&Stream) -> Answer + Send> Sink for Recorder<F> {
    fn begin(&mut self, stream: &Stream) -> Answer {
        let name = stream.origin.operator().name.clone();
        let stream = SeenStream { name, bytes: stream.bytes, pieces: Vec::new(), content: Vec::new() };
        self.seen.lock().unwrap().streams.push(stream);
        Answer::Continue
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        let answer = (self.at_piece)(stream);
        if answer != Answer::Again {
            let mut seen = self.seen.lock().unwrap();
            assert!(!seen.closed, "a piece after the end");
            let stream = seen.streams.last_mut().unwrap();
            stream.pieces.push((piece.offset, piece.bytes.len(), piece.last));
            stream.content.extend_from_slice(piece.bytes);
        }
        answer
    }

    fn broken(&mut self, _stream: &Stream, _reason: &str) {
        self.seen.lock().unwrap().broken += 1;
    }

    fn close(&mut self, _ending: &Ending) -> opscope_dump::Closed {
        self.seen.lock().unwrap().closed = true;
        Default::default()
    }
}

fn subscribe(
    dumper: &Dumper,
    delivery: Delivery,
    at_piece: impl FnMut(&Stream) -> Answer + Send + 'static,
) -> (Handle, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let sink = Recorder { seen: Arc::clone(&seen), at_piece };
    let handle = dumper.subscribe(Box::new(sink), Request { delivery: Some(delivery), ..Request::default() }).unwrap();
    (handle, seen)
}

fn queued(cap: usize, policy: Policy) -> Delivery {
    Delivery::Queued(Flow { cap, policy })
}

fn patient() -> Policy {
    Policy::Block { patience: Duration::from_secs(60) }
}

/// Returns a function that waits at every piece until the sender lets it continue.
fn gate() -> (Sender<()>, impl FnMut(&Stream) -> Answer + Send) {
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    // A gate that was dropped is open.
    (open, move |_: &Stream| {
        let _ = gate.recv();
        Answer::Continue
    })
}

const NAMES: &[&str] = &["a", "b", "c", "d", "e", "f", "last"];

#[test]
fn two_subscribers_each_get_every_stream_whole_and_in_order() {
    let chain = chain_of(NAMES, &[100, 100]);
    let dumper = Dumper::new();
    let (_, direct) = subscribe(&dumper, Delivery::Direct, |_| Answer::Continue);
    let (_, queued) = subscribe(&dumper, Delivery::default(), |_| Answer::Continue);
    dumper.add_plan(&chain, &chain).unwrap();
    chain.run_with(&dumper, 0).unwrap();
    assert!(dumper.finish().unwrap().is_complete());
    for seen in [direct, queued] {
        let seen = seen.lock().unwrap();
        let names: Vec<_> = seen.streams.iter().map(|stream| stream.name.as_str()).collect();
        assert_eq!(names, ["last", "a", "b", "c", "d", "e", "f"]);
        assert!(seen.streams.iter().all(|stream| stream.pieces.len() == 1 && stream.is_whole()));
    }
}

#[test]
fn a_slow_sink_with_a_small_queue_gets_everything_while_the_run_waits() {
    let chain = chain_of(NAMES, &[64, 1024]);
    let dumper = Dumper::new();
    let (open, at_piece) = gate();
    let (_, seen) = subscribe(&dumper, queued(Flow::SMALLEST_CAP, patient()), at_piece);
    let opener = thread::spawn(move || while open.send(()).is_ok() {});
    chain.run_with(&dumper, 0).unwrap();
    assert!(dumper.finish().unwrap().is_complete());
    opener.join().unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.streams.len(), 6);
    for stream in &seen.streams {
        assert!(stream.pieces.len() > 10, "a queue of 64 KiB takes a tensor of 256 KiB only in pieces");
        assert!(stream.is_whole(), "{}", stream.name);
    }
}

#[test]
fn a_sink_that_hangs_is_given_up_and_the_run_goes_on() {
    let chain = chain_of(NAMES, &[64, 1024]);
    let dumper = Dumper::new();
    let (open, at_piece) = gate();
    let patience = Duration::from_millis(300);
    subscribe(&dumper, queued(Flow::SMALLEST_CAP, Policy::Block { patience }), at_piece);
    let begin = Instant::now();
    chain.run_with(&dumper, 0).unwrap();
    let report = dumper.finish().unwrap();
    // In real time: the run and the end wait once each. Other tests check the exact moments, on a clock that they
    // advance.
    let took = begin.elapsed();
    assert!((patience * 2..patience * 20).contains(&took), "{took:?}");
    drop(open);
    let report = &report.subscriptions[0];
    assert!(report.errors.iter().any(|error| error.contains("too long")), "{report:?}");
    assert!(report.losses.named().iter().any(|missing| missing.reason.contains("took nothing")));
}

#[test]
fn a_run_waits_for_a_sink_that_takes_nothing_until_its_patience_is_over_and_so_does_the_end() {
    let default = Policy::Block { patience: Duration::from_secs(60) };
    assert_eq!(Flow::default().policy, default, "the default is a minute");
    assert_eq!(Flow::DEFAULT_PATIENCE, Duration::from_secs(60), "also where the policy is another one");
    // With the smallest cap, the list of spilled pieces is soon full, and the run waits, too.
    let spill = Policy::Spill { directory: std::env::temp_dir() };
    let short = Policy::Block { patience: Duration::from_secs(3) };
    for (policy, seconds) in [(default, 60), (short, 3), (spill, 60)] {
        let clock = ManualClock::create();
        let dumper = Arc::new(Dumper::with_clock(Clock::manual(&clock)));
        let (release, held) = channel();
        let delivery = Some(queued(Flow::SMALLEST_CAP, policy));
        dumper.subscribe(Box::new(Hanging(held)), Request { delivery, ..Request::default() }).unwrap();
        let run = spawned(&dumper, |dumper| chain_of(NAMES, &[64, 1024]).run_with(dumper, 0).map(drop));
        ends_after(&clock, seconds, run).unwrap();
        let end = spawned(&dumper, Dumper::finish);
        let report = ends_after(&clock, seconds, end).unwrap();
        let report = &report.subscriptions[0];
        assert!(report.errors.iter().any(|error| error.contains("too long")), "{report:?}");
        let reason = format!("the sink took nothing for {seconds} s");
        assert!(report.losses.named().iter().any(|missing| missing.reason == reason), "{report:?}");
        drop(release);
    }
}

/// A sink that does not return from its first call before the sender is dropped.
struct Hanging(Receiver<()>);

impl Sink for Hanging {
    fn begin(&mut self, _stream: &Stream) -> Answer {
        let _ = self.0.recv();
        Answer::Continue
    }

    fn piece(&mut self, _stream: &Stream, _piece: Piece<'_>) -> Answer {
        Answer::Continue
    }

    fn close(&mut self, _ending: &Ending) -> opscope_dump::Closed {
        Default::default()
    }
}

/// Calls a function with a dumper on a thread of its own.
fn spawned<R: Send + 'static>(dumper: &Arc<Dumper>, call: impl FnOnce(&Dumper) -> R + Send + 'static) -> JoinHandle<R> {
    let dumper = Arc::clone(dumper);
    thread::spawn(move || call(&dumper))
}

/// Checks that a thread ends after this time, and not a millisecond earlier.
fn ends_after<R: Send + 'static>(clock: &ManualClock, seconds: u64, ending: JoinHandle<R>) -> R {
    clock.await_waits(1);
    clock.advance(Duration::from_secs(seconds) - Duration::from_millis(1));
    clock.await_waits(1);
    assert!(!ending.is_finished(), "a millisecond is left");
    clock.advance(Duration::from_millis(1));
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(ending.join()));
    ended.recv_timeout(Duration::from_secs(30)).expect("its time is over").unwrap()
}

#[test]
fn a_sink_that_takes_one_piece_in_its_patience_is_waited_for() {
    let clock = ManualClock::create();
    let dumper = Arc::new(Dumper::with_clock(Clock::manual(&clock)));
    let (open, mut at_piece) = gate();
    let (entered, enters) = channel();
    let at_piece = move |stream: &Stream| {
        // The test counts the first ones only.
        let _ = entered.send(());
        at_piece(stream)
    };
    let policy = Policy::Block { patience: Duration::from_secs(60) };
    subscribe(&dumper, queued(Flow::SMALLEST_CAP, policy), at_piece);
    let run = spawned(&dumper, |dumper| chain_of(NAMES, &[64, 1024]).run_with(dumper, 0).map(drop));
    for _ in 0..20 {
        // The sink has taken the previous piece.
        enters.recv().unwrap();
        clock.await_waits(1);
        clock.advance(Duration::from_secs(59));
        open.send(()).unwrap();
    }
    drop((open, enters));
    run.join().unwrap().unwrap();
    assert!(dumper.finish().unwrap().is_complete());
}

#[test]
fn the_time_of_what_waits_is_over_by_the_clock_of_the_dumper() {
    const HOUR: Duration = Duration::from_secs(3600);
    // Whether an hour passes on that clock; what is left is less than the time that passes on the system's meanwhile.
    for (passes, time, expected) in [(true, HOUR, (1, 5)), (false, Duration::from_millis(1), (6, 0))] {
        let clock = ManualClock::create();
        let dumper = Dumper::with_clock(Clock::manual(&clock));
        let (open, mut at_piece) = gate();
        let (begun, begins) = channel();
        let signalling = move |stream: &Stream| {
            let _ = begun.send(());
            at_piece(stream)
        };
        subscribe(&dumper, queued(64 << 20, patient()), signalling);
        chain_of(NAMES, &[4, 16]).run_with(&dumper, 0).unwrap();
        begins.recv().unwrap();
        dumper.give_up_at(clock.now() + time);
        if passes {
            clock.advance(HOUR);
        } else {
            thread::sleep(time * 10);
        }
        drop(open);
        let report = dumper.finish().unwrap();
        let report = &report.subscriptions[0];
        assert_eq!((report.delivered.tensors, report.losses.count()), expected, "{report:?}");
    }
}

#[test]
fn what_waits_when_the_time_is_over_is_missing_and_what_came_before_is_whole() {
    // This covers tensors that are queued as a whole, and tensors in pieces.
    for shape in [&[4, 16], &[64, 8192]] {
        let chain = chain_of(NAMES, shape);
        let dumper = Dumper::new();
        let (open, at_piece) = gate();
        let (begun, begins) = channel();
        let mut at_piece = at_piece;
        let signalling = move |stream: &Stream| {
            let _ = begun.send(());
            at_piece(stream)
        };
        let (_, seen) = subscribe(&dumper, queued(64 << 20, patient()), signalling);
        chain.run_with(&dumper, 0).unwrap();
        begins.recv().unwrap();
        // Everything else waits for the piece that the sink is handling.
        dumper.give_up_at(Instant::now());
        drop(open);
        let report = dumper.finish().unwrap();
        let report = &report.subscriptions[0];
        let is_whole = shape[1] == 16;
        assert_eq!((report.delivered.tensors, report.losses.count()), if is_whole { (1, 5) } else { (0, 6) });
        let missing: Vec<_> =
            report.losses.named().iter().map(|missing| missing.origin.operator().name.as_str()).collect();
        assert_eq!(missing, if is_whole { &NAMES[1..6] } else { &NAMES[..6] });
        let why = "there was no time to write what still waited";
        assert!(report.losses.named().iter().all(|missing| missing.reason == why), "{report:?}");
        assert_eq!(report.errors, [why]);
        let seen = seen.lock().unwrap();
        assert!(seen.closed && seen.streams.len() == 1);
        assert_eq!((seen.streams[0].is_whole(), seen.broken), (is_whole, usize::from(!is_whole)));
    }
}

#[test]
fn nothing_is_missing_if_the_time_is_not_over() {
    let chain = chain_of(NAMES, &[4, 16]);
    let dumper = Dumper::new();
    let (_, seen) = subscribe(&dumper, Delivery::default(), |_| Answer::Continue);
    chain.run_with(&dumper, 0).unwrap();
    dumper.give_up_at(Instant::now() + Duration::from_secs(3600));
    assert!(dumper.finish().unwrap().is_complete());
    assert_eq!(seen.lock().unwrap().streams.len(), 6);
}

#[test]
fn under_drop_a_stalled_sink_costs_named_tensors_and_no_waiting() {
    let chain = chain_of(NAMES, &[4, 1024]);
    let dumper = Dumper::new();
    let (open, at_piece) = gate();
    let (_, seen) = subscribe(&dumper, queued(Flow::SMALLEST_CAP, Policy::Drop), at_piece);
    for run in 0..3 {
        chain.run_with(&dumper, run).unwrap();
    }
    drop(open);
    let report = dumper.finish().unwrap();
    let losses = &report.subscriptions[0].losses;
    let delivered = report.subscriptions[0].delivered.tensors;
    assert!(delivered >= 2 && losses.count() > 0, "{delivered} delivered, {} lost", losses.count());
    assert_eq!(delivered + losses.count(), 18);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.streams.len() as u64, delivered);
    assert!(seen.streams.iter().all(SeenStream::is_whole), "a tensor comes whole or not at all");
    assert!(losses.named().iter().all(|missing| missing.reason.contains("drop")));
}

#[test]
fn under_spill_a_stalled_sink_loses_nothing_and_the_run_does_not_wait() {
    let chain = chain_of(NAMES, &[64, 8192]);
    let dumper = Dumper::new();
    let (open, at_piece) = gate();
    let directory = tempfile::tempdir().unwrap();
    let policy = Policy::Spill { directory: directory.path().into() };
    let (_, seen) = subscribe(&dumper, queued(1 << 20, policy), at_piece);
    // The run returns although the sink has not taken a single piece.
    chain.run_with(&dumper, 0).unwrap();
    assert!(seen.lock().unwrap().streams.iter().all(|stream| stream.pieces.is_empty()));
    drop(open);
    assert!(dumper.finish().unwrap().is_complete());
    let seen = seen.lock().unwrap();
    assert_eq!(seen.streams.len(), 6);
    assert!(seen.streams.iter().all(SeenStream::is_whole));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "what was spilled has no name");
}

#[test]
fn a_panic_of_a_sink_ends_its_subscription_and_nothing_else() {
    for delivery in [Delivery::Direct, Delivery::default()] {
        let chain = chain_of(NAMES, &[4]);
        let dumper = Dumper::new();
        let mut pieces = 0;
        subscribe(&dumper, delivery, move |_| {
            pieces += 1;
            assert!(pieces < 3, "the third piece is too much");
            Answer::Continue
        });
        let (_, other) = subscribe(&dumper, Delivery::Direct, |_| Answer::Continue);
        chain.run_with(&dumper, 0).unwrap();
        let report = dumper.finish().unwrap();
        assert!(report.subscriptions[0].errors[0].contains("the third piece is too much"));
        assert_eq!((report.subscriptions[0].delivered.tensors, report.subscriptions[0].losses.count()), (2, 4));
        assert!(report.subscriptions[1].is_complete());
        let other = other.lock().unwrap();
        assert!(other.streams.len() == 6 && other.streams.iter().all(SeenStream::is_whole));
    }
}

#[test]
fn a_sink_can_skip_a_stream_ask_again_and_stop() {
    for delivery in [Delivery::Direct, Delivery::default()] {
        let chain = chain_of(NAMES, &[64, 1024]);
        let dumper = Dumper::new();
        let mut asked = 0;
        let sink = move |stream: &Stream| match stream.origin.operator().name.as_str() {
            "a" => Answer::Skip,
            "b" => {
                asked += 1;
                if asked % 3 == 0 { Answer::Continue } else { Answer::Again }
            }
            "d" => Answer::Stop("enough".into()),
            _ => Answer::Continue,
        };
        let seen = Arc::new(Mutex::new(Seen::default()));
        let sink = Recorder { seen: Arc::clone(&seen), at_piece: sink };
        let request = Request { delivery: Some(delivery), piece_size: 65536, ..Request::default() };
        dumper.subscribe(Box::new(sink), request).unwrap();
        chain.run_with(&dumper, 0).unwrap();
        let report = dumper.finish().unwrap();
        let seen = seen.lock().unwrap();
        let pieces: Vec<_> = seen.streams.iter().map(|stream| (stream.name.as_str(), stream.pieces.len())).collect();
        assert_eq!(pieces, [("a", 1), ("b", 4), ("c", 4), ("d", 1)]);
        let whole: Vec<_> = seen.streams.iter().map(SeenStream::is_whole).collect();
        assert_eq!(whole, [false, true, true, false], "what is offered again is the same, and comes once");
        assert_eq!(report.subscriptions[0].delivered.tensors, 2);
        let lost: Vec<_> = report.subscriptions[0].losses.named().iter().map(|m| &*m.origin.operator().name).collect();
        assert_eq!(lost, ["d", "e", "f"]);
    }
}

#[test]
fn a_sink_that_asks_again_for_ever_is_stopped() {
    let chain = chain_of(NAMES, &[4]);
    let dumper = Dumper::new();
    subscribe(&dumper, Delivery::Direct, |_| Answer::Again);
    chain.run_with(&dumper, 0).unwrap();
    assert!(dumper.finish().unwrap().subscriptions[0].errors[0].contains("1000 times"));
}

#[test]
fn a_stop_ends_the_run_where_that_was_asked_for() {
    let chain = chain_of(NAMES, &[4]);
    let dumper = Dumper::new();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let sink = Recorder { seen, at_piece: |_: &Stream| Answer::Stop("enough".into()) };
    let request = Request { delivery: Some(Delivery::Direct), stops_run: true, ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    assert!(chain.run_with(&dumper, 0).unwrap_err().to_string().contains("enough"));
}

#[test]
fn unsubscribing_delivers_what_waits_and_nothing_is_called_afterwards() {
    let chain = chain_of(NAMES, &[64, 1024]);
    let dumper = Dumper::new();
    let (open, at_piece) = gate();
    let (handle, seen) = subscribe(&dumper, Delivery::default(), at_piece);
    chain.run_with(&dumper, 0).unwrap();
    drop(open);
    let report = dumper.unsubscribe(handle).unwrap().unwrap();
    assert_eq!(report.delivered.tensors, 6);
    assert!(seen.lock().unwrap().closed);
    assert!(seen.lock().unwrap().streams.iter().all(SeenStream::is_whole));
    chain.run_with(&dumper, 1).unwrap();
    assert_eq!(seen.lock().unwrap().streams.len(), 6);
    assert!(dumper.unsubscribe(handle).unwrap().is_none());
    assert!(dumper.finish().unwrap().subscriptions.is_empty());
}

#[test]
fn a_sink_that_would_wait_for_itself_is_told_so() {
    for delivery in [Delivery::Direct, Delivery::default()] {
        let chain = chain_of(&["a", "last"], &[4]);
        let dumper = Arc::new(Dumper::new());
        let (told, answer) = channel();
        let inner = Arc::downgrade(&dumper);
        subscribe(&dumper, delivery, move |_| {
            let dumper = inner.upgrade().expect("the test holds the dumper");
            told.send(dumper.finish().map(drop)).expect("the test listens");
            Answer::Continue
        });
        chain.run_with(&*dumper, 0).unwrap();
        assert!(matches!(answer.recv().unwrap(), Err(DumpError::FromWithin)));
        assert!(dumper.finish().unwrap().is_complete());
    }
}

#[test]
fn a_sink_that_unsubscribes_itself_is_refused_and_keeps_its_subscription() {
    for delivery in [Delivery::Direct, Delivery::default()] {
        let chain = chain_of(&["a", "b", "last"], &[4]);
        let dumper = Arc::new(Dumper::new());
        let (told, answer) = channel();
        let (inner, own) = (Arc::downgrade(&dumper), Arc::new(OnceLock::new()));
        let this = Arc::clone(&own);
        let (handle, seen) = subscribe(&dumper, delivery, move |_| {
            let dumper = inner.upgrade().expect("the test holds the dumper");
            let handle = *this.get().expect("it is set before the run");
            told.send(dumper.unsubscribe(handle).map(drop)).expect("the test listens");
            Answer::Continue
        });
        own.set(handle).expect("it is set once");
        chain.run_with(&*dumper, 0).unwrap();
        let report = dumper.unsubscribe(handle).unwrap().expect("it is still there");
        assert_eq!((report.delivered.tensors, report.is_complete()), (2, true));
        let answers: Vec<_> = answer.try_iter().collect();
        assert!(matches!(answers[..], [Err(DumpError::FromWithin), Err(DumpError::FromWithin)]), "{answers:?}");
        assert!(seen.lock().unwrap().streams.iter().all(SeenStream::is_whole));
    }
}

#[test]
fn runs_on_several_threads_do_not_mix_their_streams() {
    let chain = chain_of(NAMES, &[64, 1024]);
    let dumper = Dumper::new();
    let (_, seen) = subscribe(&dumper, queued(1 << 20, patient()), |_| Answer::Continue);
    thread::scope(|scope| {
        for run in 0..4 {
            let (chain, dumper) = (&chain, &dumper);
            scope.spawn(move || chain.run_with(dumper, run).unwrap());
        }
    });
    assert!(dumper.finish().unwrap().is_complete());
    let seen = seen.lock().unwrap();
    assert_eq!(seen.streams.len(), 24);
    assert!(seen.streams.iter().all(SeenStream::is_whole), "pieces of a stream are not mixed with another's");
}

#[test]
fn two_models_under_one_registration_are_told_apart() {
    let (small, large) = (chain_of(&["a", "last"], &[4]), chain_of(&["a", "b", "last"], &[8]));
    let dumper = Dumper::new();
    let models = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&models);
    subscribe(&dumper, Delivery::default(), move |stream| {
        kept.lock().unwrap().push((stream.origin.plan, stream.origin.graph.source.xxh3, stream.shape.clone()));
        Answer::Continue
    });
    small.run_with(&dumper, 0).unwrap();
    large.run_with(&dumper, 1).unwrap();
    dumper.finish().unwrap();
    assert_eq!(*models.lock().unwrap(), [(0, Digest(2), vec![4]), (1, Digest(3), vec![8]), (1, Digest(3), vec![8])]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn pieces_are_of_the_chosen_size_in_order_and_the_last_one_comes_once(
        elements in 0usize..3000, piece_size in 1usize..5000, direct: bool,
    ) {
        let chain = chain_of(&["a", "last"], &[elements]);
        let dumper = Dumper::new();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let sink = Recorder { seen: Arc::clone(&seen), at_piece: |_: &Stream| Answer::Continue };
        let delivery = if direct { Delivery::Direct } else { Delivery::default() };
        dumper.subscribe(Box::new(sink), Request { delivery: Some(delivery), piece_size, ..Request::default() }).unwrap();
        chain.run_with(&dumper, 0).unwrap();
        prop_assert!(dumper.finish().unwrap().is_complete());
        let seen = seen.lock().unwrap();
        let stream = &seen.streams[0];
        prop_assert_eq!(stream.bytes, elements as u64 * 4);
        prop_assert!(stream.pieces.iter().all(|&(_, length, _)| length <= piece_size.max(64) && length % 4 == 0));
        prop_assert_eq!(stream.pieces.iter().filter(|(.., last)| *last).count(), 1);
        prop_assert!(stream.is_whole());
    }
}

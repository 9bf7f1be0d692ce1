use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use opscope_clock::Timestamp;
use opscope_debug::expression::TensorRef;
use opscope_debug::{
    Account, Attachment, DebugError, Event, EventKind, Exception, Moment, Queue, Resume, RunPosition, Sequence,
};
use opscope_tensor::Tensor;

use crate::chance::Chance;
use crate::{Program, THREADS, fake};

/// A debugger that is attached for a while.
pub struct Client<'a> {
    program: &'a Program,
    chance: &'a mut Chance,
    attachment: Arc<Attachment>,
    /// Whether leases are short, so that threads continue that this client assumes to be stopped.
    is_hasty: bool,
    /// Whether the notification callback also acknowledges events.
    has_rival: bool,
    /// The events that the callback took.
    rival: (Sender<Vec<Event>>, Receiver<Vec<Event>>),
    stopped: Vec<Event>,
    /// The last event that was read from each queue.
    last: [Option<Sequence>; 2],
    times: BTreeMap<Sequence, Timestamp>,
    delivered: [u64; 2],
    folded: u64,
}

impl<'a> Client<'a> {
    pub fn attach(program: &'a Program, chance: &'a mut Chance) -> Self {
        let options = chance.options();
        let attachment = Arc::new(program.attach(&options));
        Self {
            program,
            chance,
            attachment,
            is_hasty: options.lease < Duration::from_secs(60),
            has_rival: false,
            rival: channel(),
            stopped: Vec::new(),
            last: [None; 2],
            times: BTreeMap::new(),
            delivered: [0; 2],
            folded: 0,
        }
    }

    /// Makes random calls for a while, and then detaches or is dropped.
    pub fn live(mut self) {
        for _ in 0..self.chance.below(400) {
            self.read();
            if let Err(error) = self.act() {
                self.check(&error);
            }
            if self.program.is_done() {
                break;
            }
        }
        if self.chance.one_in(2) && self.attachment.set_notification_callback(None).is_ok() {
            self.read_rival();
            if self.attachment.detach().is_ok() {
                self.read_last();
            }
        }
        assert!(self.times.values().is_sorted(), "the order of events is the order of their times");
    }

    fn read(&mut self) {
        for queue in [Queue::Sync, Queue::Async] {
            if !self.chance.one_in(4) {
                let events = self.attachment.next_events(queue, self.chance.pick(&[1, 3, 1000])).unwrap();
                self.note(queue, &events);
                self.stopped.extend(events.into_iter().filter(|event| event.waiting));
            }
        }
        self.read_rival();
    }

    /// Checks that numbers rise within each queue.
    fn note(&mut self, queue: Queue, events: &[Event]) {
        let index = usize::from(queue == Queue::Async);
        for event in events {
            assert_eq!(event.queue(), queue);
            assert!(Some(event.sequence) > self.last[index], "{event:?} came after {:?}", self.last[index]);
            self.last[index] = Some(event.sequence);
            self.folded += event.coalesced;
        }
        self.count(index, events);
    }

    fn read_rival(&mut self) {
        while let Ok(events) = self.rival.1.try_recv() {
            self.has_rival = true;
            self.count(0, &events);
            self.stopped.extend(events.into_iter().filter(|event| event.waiting));
        }
    }

    /// Checks that no event comes twice.
    fn count(&mut self, index: usize, events: &[Event]) {
        self.delivered[index] += events.len() as u64;
        for event in events {
            assert!(self.times.insert(event.sequence, event.at).is_none(), "{event:?} was told before");
        }
    }

    /// Reads the remaining events after detaching, for which no thread waits.
    fn read_last(&mut self) {
        let rest = self.attachment.next_events(Queue::Sync, usize::MAX).unwrap();
        assert_eq!(rest.last().map(|event| &event.kind), Some(&EventKind::DetachComplete));
        assert!(rest.iter().all(|event| !event.waiting));
        self.note(Queue::Sync, &rest);
    }

    fn act(&mut self) -> Result<(), DebugError> {
        match self.chance.below(16) {
            0..6 => self.answer(),
            6 => {
                self.stopped.clear();
                self.attachment.acknowledge_sync_events().map(drop)
            }
            7 | 8 => self.attachment.add_breakpoint(self.chance.breakpoint()).map(drop),
            9 => self.change(),
            10 => {
                let run = self.chance.one_in(2).then(|| self.chance.run());
                self.attachment.pause(run).map(drop)
            }
            11 => self.attachment.subscribe(self.chance.events()),
            12 => self.watch(),
            13 => self.account(),
            14 => match self.stopped.last() {
                Some(event) => self.attachment.renew(event.sequence),
                None => Ok(()),
            },
            // This event is forgotten, until other events are acknowledged, its lease expires, or this client is gone.
            _ => {
                self.chance.take(&mut self.stopped);
                Ok(())
            }
        }
    }

    /// Looks at a stopped run, and continues it in a random way.
    fn answer(&mut self) -> Result<(), DebugError> {
        let Some(event) = self.chance.take(&mut self.stopped) else { return Ok(()) };
        let (attachment, sequence, place) = (&self.attachment, event.sequence, operator(&event.kind));
        if let Some(place) = place
            && self.chance.one_in(2)
        {
            assert_eq!(attachment.location(sequence)?.place, *place);
            // A tensor that is replaced by an equal one makes no difference.
            let reference = if place.moment == Moment::Before { "input[0]" } else { "output[0]" };
            let reference: TensorRef = reference.parse().unwrap();
            attachment.look(sequence, move |stopped| {
                let same = stopped.tensor(&reference)?.to_tensor()?;
                stopped.replace(&reference, same)
            })??;
        }
        let resume = match self.chance.below(7) {
            0 | 1 => Resume::Continue,
            2 => Resume::Step,
            3 => Resume::Finish,
            4 => Resume::Until("sum".parse().unwrap()),
            5 => match place.filter(|place| place.moment == Moment::Before) {
                Some(place) => Resume::Skip(vec![result(attachment, sequence, place.operator)?]),
                None => Resume::Continue,
            },
            _ => match run(&event.kind) {
                Some(run) => {
                    self.program.aborted[run as usize].store(true, Ordering::SeqCst);
                    Resume::Abort("at random".to_owned())
                }
                None => Resume::Continue,
            },
        };
        self.attachment.acknowledge(sequence, resume)
    }

    fn change(&mut self) -> Result<(), DebugError> {
        let mut all = self.attachment.breakpoints()?;
        let Some(breakpoint) = self.chance.take(&mut all) else { return Ok(()) };
        if self.chance.one_in(2) {
            return self.attachment.remove_breakpoint(breakpoint.id);
        }
        self.attachment.change_breakpoint(breakpoint.id, self.chance.change()).map(drop)
    }

    /// Sets a callback that takes and acknowledges events, or one that does nothing, or none.
    fn watch(&mut self) -> Result<(), DebugError> {
        let callback: Option<Box<dyn FnMut() + Send>> = match self.chance.below(3) {
            0 => None,
            1 => Some(Box::new(|| ())),
            _ => {
                let (attachment, taken) = (Arc::downgrade(&self.attachment), self.rival.0.clone());
                Some(Box::new(move || {
                    let Some(attachment) = attachment.upgrade() else { return };
                    assert!(matches!(attachment.status(), Err(DebugError::RecursiveCall)));
                    // In strict mode the callback gets no events.
                    let Ok(events) = attachment.next_events(Queue::Sync, 10) else { return };
                    let _ = taken.send(events);
                    let _ = attachment.acknowledge_sync_events();
                }))
            }
        };
        self.has_rival |= callback.is_some();
        self.attachment.set_notification_callback(callback)
    }

    /// Checks that every event that was raised was delivered, coalesced or discarded, or waits.
    fn account(&mut self) -> Result<(), DebugError> {
        let status = self.attachment.status()?;
        for account in [status.sync, status.asynchronous] {
            let Account { raised, delivered, coalesced, waiting, discarded } = account;
            assert_eq!(raised, delivered + coalesced + waiting + discarded, "{account:?}");
        }
        assert!(status.sync.delivered >= self.delivered[0], "{status:?}");
        assert_eq!(status.asynchronous.delivered, self.delivered[1]);
        assert!(status.asynchronous.coalesced >= self.folded, "{status:?}");
        // Each thread waits at one event, and may have raised one more.
        assert!(status.stopped.len() <= 2 * THREADS as usize, "{status:?}");
        Ok(())
    }

    /// Checks an error: a client that follows the rules is refused only for reasons that it could not know.
    fn check(&self, error: &DebugError) {
        match error {
            DebugError::NotAttached => assert!(self.is_hasty, "{error}"),
            DebugError::AlreadyContinued(..) | DebugError::NotStopped(_) => {
                assert!(self.is_hasty || self.has_rival, "{error}")
            }
            // A one-shot breakpoint may have stopped a run just now; not every event is in the middle of a run; and the
            // first run may not have begun.
            DebugError::NoSuchBreakpoint(_) | DebugError::Resume(_) | DebugError::NoSuchOperator { .. } => {}
            other => panic!("{other}"),
        }
    }
}

/// Returns where a run is stopped, if its tensors can be read. A failed run no longer has any.
fn operator(kind: &EventKind) -> Option<&RunPosition> {
    match kind {
        EventKind::Exception { exception: Exception::Engine { .. }, .. } => None,
        kind => kind.position(),
    }
}

fn run(kind: &EventKind) -> Option<u64> {
    match kind {
        EventKind::RunPushed { run, .. } => Some(run.0),
        kind => operator(kind).map(|place| place.run.0),
    }
}

/// Returns the result of an operator, so that skipping it makes no difference.
fn result(attachment: &Attachment, event: Sequence, operator: u32) -> Result<Tensor, DebugError> {
    attachment.look(event, move |stopped| {
        let read = |reference: &str| -> Result<Vec<f32>, DebugError> {
            Ok(fake::floats(&stopped.tensor(&reference.parse().unwrap())?.to_tensor()?))
        };
        let a = read("input[0]")?;
        let made: Vec<f32> = match operator {
            0 => a.iter().zip(read("input[1]")?).map(|(a, b)| a * b).collect(),
            1 => a.iter().map(|a| a.ln()).collect(),
            _ => a.iter().zip(read("input[1]")?).map(|(a, b)| fake::relu(a + b)).collect(),
        };
        Ok(fake::tensor(&made))
    })?
}

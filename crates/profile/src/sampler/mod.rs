mod proc;

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use opscope_clock::{Clock, Sleeper, Ticks};
use opscope_sys::{Condvar, Mutex};
use opscope_trace::{Buffer, CounterRecord, NameId, current_thread, intern};

use crate::{ProfileError, ProfilerOptions};
use proc::{Counters, Reading};

/// The thread that reads the counters. Dropping this ends the thread at once.
pub(crate) struct Sampler {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

struct Stop {
    clock: Clock,
    asked: Mutex<bool>,
    changed: Condvar,
}

/// A counter, and its number in records.
struct Named {
    reading: Reading,
    name: NameId,
}

impl Sampler {
    /// Begins to sample the counters that are switched on, at intervals of this clock; `None` if there are none.
    pub(crate) fn start(
        options: &ProfilerOptions,
        buffer: &Buffer,
        clock: &Clock,
    ) -> Result<Option<Self>, ProfileError> {
        if !options.switches.any_counter() {
            return Ok(None);
        }
        let mut counters = Counters::new(options.switches);
        let named: Vec<Named> = counters
            .readings()
            .into_iter()
            .map(|reading| Named { reading, name: intern(&format!("{} [{}]", reading.title(), reading.unit())) })
            .collect();
        let stop = Arc::new(Stop { clock: clock.clone(), asked: Mutex::default(), changed: Condvar::new() });
        let sleeper: Weak<Stop> = Arc::downgrade(&stop);
        clock.register(sleeper);
        let (asked, buffer, interval) = (Arc::clone(&stop), buffer.clone(), options.sample_interval);
        let sample = move || {
            while {
                emit(&mut counters, &named, &buffer);
                asked.wait(interval)
            } {}
            emit(&mut counters, &named, &buffer);
        };
        let thread = std::thread::Builder::new()
            .name("opscope-sampler".to_owned())
            .spawn(sample)
            .map_err(|error| ProfileError::Trace(format!("no thread for the counters: {error}")))?;
        Ok(Some(Self { stop, thread: Some(thread) }))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        *self.stop.asked.lock() = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // If the sampler panicked, the recording continues without samples.
            let _ = thread.join();
        }
    }
}

impl Stop {
    /// Waits for the interval. Returns whether to continue.
    fn wait(&self, interval: Duration) -> bool {
        // An interval that exceeds the clock's range never ends.
        let deadline = self.clock.after(interval);
        let mut asked = self.asked.lock();
        while !*asked {
            if deadline.is_some_and(|deadline| self.clock.has_come(deadline)) {
                return true;
            }
            asked = self.clock.wait(&self.changed, asked, deadline);
        }
        false
    }
}

impl Sleeper for Stop {
    fn wake_up(&self) {
        drop(self.asked.lock());
        self.changed.notify_all();
    }
}

fn emit(counters: &mut Counters, named: &[Named], buffer: &Buffer) {
    let time = Ticks::now();
    counters.read();
    for Named { reading, name } in named {
        if let Some(value) = counters.value(*reading) {
            let record =
                CounterRecord { time, value, name: *name, thread: current_thread(), ..CounterRecord::default() };
            // An error means that the buffer is destroyed and needs no samples.
            let _ = buffer.emit(&record);
        }
    }
}

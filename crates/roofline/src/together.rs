use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::RooflineError;

/// The time of a measurement is divided into this many windows. The best one counts, because other programs share the
/// processor. So a window should be shorter than the time slice that the system gives one of them.
const WINDOWS: usize = 64;

/// Repeats work on several threads at the same time. Returns how many repetitions all of them together do in a second,
/// in the best window of the time. `prepare` is called on each thread before the time begins. A repetition should be
/// much shorter than a window. Each thread does at least one, even if a busy machine gives it its turn too late.
pub(crate) fn best_rate<P>(
    threads: NonZeroUsize,
    time: Duration,
    prepare: impl Fn() -> P + Sync,
    work: impl Fn(&mut P) + Sync,
) -> Result<f64, RooflineError> {
    let one = |ready: mpsc::Sender<()>, begin: mpsc::Receiver<Instant>| {
        let mut prepared = prepare();
        work(&mut prepared);
        // If the receiver or the start time is missing, another thread could not be started.
        let _ = ready.send(());
        let Ok(began) = begin.recv() else { return Vec::new() };
        let mut repetitions = Vec::new();
        let mut start = began.elapsed();
        loop {
            work(&mut prepared);
            let end = began.elapsed();
            repetitions.push((start, end));
            start = end;
            if start >= time {
                return repetitions;
            }
        }
    };
    let one = &one;
    let all = thread::scope(|scope| {
        let (ready, is_ready) = mpsc::channel();
        let mut started = Vec::with_capacity(threads.get());
        for thread in 1..=threads.get() {
            let (begin, begins) = mpsc::channel();
            let ready = ready.clone();
            let spawned = thread::Builder::new().spawn_scoped(scope, move || one(ready, begins));
            let failed = |source| RooflineError::Thread { thread, threads: threads.get(), source };
            started.push((begin, spawned.map_err(failed)?));
        }
        // The channel closes when every thread that still runs has reported.
        drop(ready);
        let _all_that_live = is_ready.iter().take(threads.get()).count();
        let now = Instant::now();
        for (begin, _) in &started {
            let _ = begin.send(now);
        }
        let all = started.into_iter().flat_map(|(_, thread)| thread.join().unwrap_or_default());
        Ok(all.collect::<Vec<_>>())
    })?;
    Ok(best_window(&all, time / WINDOWS as u32))
}

/// Returns the repetitions per second in the best window. A repetition that spans several windows counts in each of
/// them in proportion.
fn best_window(repetitions: &[(Duration, Duration)], window: Duration) -> f64 {
    let window = window.as_secs_f64();
    let mut done: BTreeMap<usize, f64> = BTreeMap::new();
    for (start, end) in
        repetitions.iter().map(|(start, end)| (start.as_secs_f64() / window, end.as_secs_f64() / window))
    {
        for index in start as usize..=end as usize {
            let inside = end.min((index + 1) as f64) - start.max(index as f64);
            if inside > 0.0 && end > start {
                *done.entry(index).or_default() += inside / (end - start);
            }
        }
    }
    done.into_values().fold(0.0, f64::max) / window
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_in_which_a_thread_was_held_up_does_not_count() {
        let span = |start, end| (Duration::from_millis(start), Duration::from_millis(end));
        // Two threads: one is held up in the first two windows, then both do two repetitions in 10 ms.
        let held_up = [span(0, 20), span(20, 25), span(25, 30)];
        let other = [span(0, 5), span(5, 10), span(10, 15), span(15, 20), span(20, 25), span(25, 30)];
        let rate = best_window(&[&held_up[..], &other[..]].concat(), Duration::from_millis(10));
        assert!((rate - 400.0).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn what_begins_after_the_time_counts_as_well() {
        let late = (Duration::from_secs(9), Duration::from_millis(9_004));
        let rate = best_window(&[late], Duration::from_millis(10));
        assert!((rate - 100.0).abs() < 1e-6, "one in a window of 10 ms: {rate}");
        let rate = best_rate(NonZeroUsize::MIN, Duration::from_nanos(64), || (), |()| ()).unwrap();
        assert!(rate > 0.0 && rate.is_finite(), "{rate}");
    }

    #[test]
    fn all_threads_work_and_are_counted() {
        let threads = NonZeroUsize::new(3).unwrap();
        let names = std::sync::Mutex::new(std::collections::HashSet::new());
        let prepare = || {
            names.lock().unwrap().insert(thread::current().id());
        };
        let rate = best_rate(threads, Duration::from_millis(5), prepare, |()| {
            std::hint::black_box((0..1_000u32).fold(0, |sum, number| std::hint::black_box(sum ^ number)));
        });
        assert!(rate.unwrap() > 0.0);
        assert_eq!(names.into_inner().unwrap().len(), 3);
    }
}

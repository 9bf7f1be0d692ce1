//! Full, and woken.

use loom::thread;

use super::{Model, check};

#[test]
fn a_thread_that_waits_for_room_is_woken_and_loses_nothing() {
    check(|| {
        let model = Model::new(1, 1, 2);
        let producer = {
            let model = model.clone();
            thread::spawn(move || {
                let writer = model.open_desk(1);
                (1..=2).for_each(|number| model.emit(&writer, number));
            })
        };
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let numbers = model.flush();
            if numbers.is_empty() {
                thread::yield_now();
            }
            seen.extend(numbers);
        }
        producer.join().expect("it emits");
        assert_eq!(seen, [1, 2]);
    });
}

#[test]
fn room_that_another_thread_was_granted_and_does_not_use_is_found() {
    check(|| {
        let model = Model::new(3, 3, 2);
        let first = model.open_desk(1);
        model.emit(&first, 1);
        // The rest of the room is the first thread's, who goes on while the second one takes it away.
        let producer = {
            let model = model.clone();
            thread::spawn(move || model.emit(&first, 2))
        };
        let second = model.open_desk(2);
        model.emit(&second, 10);
        producer.join().expect("it emits");
        let mut seen = model.flush();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 10]);
    });
}

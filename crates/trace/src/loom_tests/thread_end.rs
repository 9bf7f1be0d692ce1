//! A thread ends, and another one goes on.

use loom::thread;

use super::{Model, check};

#[test]
fn what_a_thread_leaves_is_delivered_before_what_follows_it() {
    check(|| {
        let model = Model::new(4, 4, 2);
        let run = |thread: u32, numbers: [u64; 2]| {
            let model = model.clone();
            thread::spawn(move || {
                let writer = model.open_desk(thread);
                numbers.into_iter().for_each(|number| model.emit(&writer, number));
                model.lock().close_desk(writer.desk());
            })
        };
        let first = run(1, [1, 2]);
        let mut seen = model.flush();
        first.join().expect("it emits");
        let second = run(2, [3, 4]);
        seen.extend(model.flush());
        second.join().expect("it emits");
        seen.extend(model.flush());
        assert_eq!(seen, [1, 2, 3, 4]);
    });
}

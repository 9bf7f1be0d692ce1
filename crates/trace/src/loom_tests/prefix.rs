//! Publish and read a prefix.

use loom::thread;

use super::{Model, check};

#[test]
fn a_reader_sees_a_prefix_of_what_a_thread_writes_and_never_a_torn_record() {
    check(|| {
        let model = Model::new(4, 4, 2);
        let producer = {
            let model = model.clone();
            thread::spawn(move || {
                let writer = model.open_desk(1);
                (1..=3).for_each(|number| model.emit(&writer, number));
            })
        };
        let mut seen = model.flush();
        producer.join().expect("it emits");
        assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
        seen.extend(model.flush());
        assert_eq!(seen, [1, 2, 3]);
    });
}

use opscope_model::{Fidelity, NoObserver};

use crate::support::{Recorder, Seen, engine, floats, inner, load, outputs, tensor};

fn recorded(name: &str, inputs: &[opscope_tensor::Tensor]) -> Option<Vec<Seen>> {
    let model = load(&engine()?, &inner(name), Fidelity::Exact);
    let plan = model.plan(inputs).unwrap();
    let recorder = Recorder::default();
    let watched = outputs(&*plan, inputs, &recorder);
    assert_eq!(watched, outputs(&*plan, inputs, &NoObserver), "watching changes nothing");
    Some(recorder.0.into_inner().unwrap())
}

#[test]
fn operators_of_nested_loops_and_branches_are_shown_with_the_iterations_that_they_are_in() {
    let Some(seen) = recorded("nested_loops", &[tensor(&[2], &[1.0, -3.0])]) else { return };
    let shown: Vec<String> = seen
        .iter()
        .filter(|seen| seen.before && !seen.path.is_empty())
        .map(|seen| {
            let path: Vec<String> = seen.path.iter().map(|(operator, index)| format!("{operator}[{index}]")).collect();
            format!("{} in {}", seen.operator.rsplit('/').next().unwrap(), path.join(" "))
        })
        .collect();
    let mut inner_adds = shown.iter().filter(|line| line.starts_with("add in"));
    let expected = (0..3).flat_map(|i| (0..2).map(move |k| format!("add in outer[{i}] outer/inner[{k}]")));
    expected.for_each(|expected| assert_eq!(inner_adds.next(), Some(&expected), "{shown:#?}"));
    assert_eq!(inner_adds.next(), None);
    let chosen: Vec<&String> =
        shown.iter().filter(|line| line.starts_with("plus") || line.starts_with("minus")).collect();
    assert_eq!(
        chosen,
        ["minus in outer[0] outer/choose[0]", "plus in outer[1] outer/choose[0]", "minus in outer[2] outer/choose[0]",]
    );
    // 3 x (inner loop, mod, cast, if, its branch, keep) + 6 x (add, keep)
    assert_eq!(shown.len(), 3 * 6 + 6 * 2);
}

#[test]
fn the_values_of_each_iteration_are_its_own() {
    let rows = [1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
    let Some(seen) = recorded("scan", &[tensor(&[2], &[0.0, 0.0]), tensor(&[3, 2], &rows)]) else { return };
    let sums = seen.iter().filter(|seen| !seen.before && seen.operator == "scan/add");
    let sums: Vec<_> = sums.map(|seen| (seen.path[0].1, floats(seen.tensors[0].as_ref().unwrap()))).collect();
    assert_eq!(sums, [(0, vec![1.0, 10.0]), (1, vec![3.0, 30.0]), (2, vec![6.0, 60.0])]);
}

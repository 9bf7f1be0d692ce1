//! The search for the fastest right plan, with an engine that has faults in some of its forms.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope::Session;
use opscope::model::{Capabilities, Engine, EngineError, Fidelity, Kernel, LoadOptions, PlanForm};
use opscope::onnx::Graph;
use opscope::tensor::Tensor;
use opscope_job::verify::{Outcome, Verification, Verify, VerifyOptions, verify, verify_against};
use opscope_model::testing::{FakeEngine, FakePlan, GraphBuilder, floats, kernels};

/// How a form of the plan is wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// It is wrong in every run.
    Always,
    /// It is wrong from the second run on, like a plan that reuses data of the first.
    Later,
    /// It cannot be planned.
    Refused,
}

/// The forms of the engine's plans.
const FORMS: [&str; 3] = ["every rewrite", "fewer rewrites", "no rewrites"];

/// Returns a model that adds one, on an engine that returns twice the right result if a form has a fault, and an input
/// of zeros.
fn faulty(faults: &[(&'static str, Fault)]) -> (Session, Arc<FakeEngine>, Vec<Tensor>) {
    let all = Capabilities { stop: true, intermediates: true, times: true, names: true, memory: true, skip: true };
    faulty_with(all, faults)
}

fn faulty_with(
    capabilities: Capabilities,
    faults: &[(&'static str, Fault)],
) -> (Session, Arc<FakeEngine>, Vec<Tensor>) {
    let graph = GraphBuilder::new("faulty").input("x", &[1, 4]).operator("increment", "AddOne", &["x"], &["y"]);
    let faults = faults.to_vec();
    let engine = FakeEngine::new(&FORMS, move |graph, options| {
        let form = options.form.as_ref().map(PlanForm::name);
        let fault = faults.iter().find(|(name, _)| options.fidelity == Fidelity::Optimised && form == Some(name));
        let fault = fault.map(|(_, fault)| *fault);
        if fault == Some(Fault::Refused) {
            return Err(EngineError::Load { node: None, reason: "a rewrite failed".to_owned() });
        }
        let runs = AtomicUsize::new(0);
        Ok(FakePlan::new(graph, kernels(graph, &[&["increment"]]), options.fidelity, move |_, inputs| {
            let is_first = runs.fetch_add(1, Ordering::Relaxed) == 0;
            let is_right = fault.is_none() || (is_first && fault == Some(Fault::Later));
            let factor = if is_right { 1.0 } else { 2.0 };
            let elements: Vec<f32> = floats(&inputs[0]).iter().map(|element| factor * (element + 1.0)).collect();
            Ok(vec![Tensor::from_f32(inputs[0].shape().to_vec(), &elements).unwrap()])
        }))
    });
    let engine = Arc::new(engine.with_capabilities(capabilities));
    let options = LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN);
    let graph = Arc::new(graph.output("y").build());
    let session = Session::with_engine(Arc::clone(&engine) as Arc<dyn Engine>, graph, &options).unwrap();
    (session, engine, vec![Tensor::from_f32(vec![1, 4], &[0.0; 4]).unwrap()])
}

fn verified(faults: &[(&'static str, Fault)], when: Verify) -> (Verification, Session, Vec<Tensor>) {
    let (session, _, inputs) = faulty(faults);
    let options = VerifyOptions { when, ..VerifyOptions::default() };
    let (verification, other) = verify(&session, &inputs, 10, &options).expect("the model runs");
    (verification, other.unwrap_or(session), inputs)
}

/// Returns an engine of another name, which returns the right result times `factor`.
fn other_engine(factor: f32) -> Arc<dyn Engine> {
    Arc::new(FakeEngine::new(&["only"], move |graph, options| {
        Ok(FakePlan::new(graph, kernels(graph, &[&["increment"]]), options.fidelity, move |_, inputs| {
            let elements: Vec<f32> = floats(&inputs[0]).iter().map(|element| factor * (element + 1.0)).collect();
            Ok(vec![Tensor::from_f32(inputs[0].shape().to_vec(), &elements).unwrap()])
        }))
    }))
}

#[test]
fn another_engine_is_the_reference_and_the_first_form_that_gives_its_outputs_runs() {
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    let all = FORMS.map(|form| (form, Fault::Always));
    for (faults, runs, wrong) in
        [(&all[..0], "every rewrite", 0), (&all[..1], "fewer rewrites", 1), (&all, "the exact plan", 3)]
    {
        let (session, _, inputs) = faulty(faults);
        let found = verify_against(Some(&other_engine(1.0)), &session, &inputs, 10, &options);
        let (verification, other) = found.expect("the model runs");
        assert_eq!((form(&verification), verification.wrong.len()), (runs, wrong));
        assert_eq!(second_run(&other.unwrap_or(session), &inputs), [1.0; 4]);
        let reference = other_engine(1.0);
        let name = format!("{} {}", reference.name(), reference.version());
        assert_eq!(verification.reference.as_ref(), Some(&name));
        assert!(wrong > 0 || verification.sentence().starts_with(&format!("the outputs are those of {name}, ")));
        // The exact plan is also compared, element by element.
        let Outcome::Right { outputs, .. } = &verification.outcome else { unreachable!() };
        assert_eq!(outputs.len(), 1);
    }
}

#[test]
fn where_no_form_gives_the_outputs_of_the_other_engine_that_is_the_result_and_the_engines_own_plan_runs() {
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    let (session, _, inputs) = faulty(&[]);
    let reference = other_engine(3.0);
    let (verification, other) = verify_against(Some(&reference), &session, &inputs, 10, &options).unwrap();
    assert!(verification.is_wrong() && other.is_none(), "{verification:?}");
    let tried: Vec<&str> = verification.wrong.iter().map(|wrong| &*wrong.form).collect();
    assert_eq!(tried, [&FORMS[..], &["the exact plan"]].concat());
    let sentence = verification.sentence();
    let says = [
        "no form of the plan gives the outputs of ",
        "the one that runs gives other outputs: y by 0.67 of its largest",
    ];
    says.iter().for_each(|text| assert!(sentence.contains(text), "{sentence}"));
    let json = serde_json::to_value(&verification).unwrap();
    assert_eq!(json["outcome"], "wrong");
    assert_eq!(serde_json::from_value::<Verification>(json).unwrap(), verification);
    // An exact session has one form.
    let exact = session.with_options(&session.options(Fidelity::Exact)).unwrap();
    assert!(verify(&exact, &inputs, 10, &options).is_none());
    let (verification, other) = verify_against(Some(&reference), &exact, &inputs, 10, &options).unwrap();
    assert!(verification.is_wrong() && other.is_none() && verification.wrong.len() == 1, "{verification:?}");
    let (verification, other) = verify_against(Some(&other_engine(1.0)), &exact, &inputs, 10, &options).unwrap();
    assert!(form(&verification) == "the exact plan" && other.is_none(), "{verification:?}");
}

#[test]
fn a_reference_that_does_not_run_the_model_is_said() {
    let engine: Arc<dyn Engine> = Arc::new(FakeEngine::new(&["only"], |_, _| {
        Err(EngineError::Load { node: None, reason: "it has no such operator".to_owned() })
    }));
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    let (session, _, inputs) = faulty(&[]);
    let (verification, other) = verify_against(Some(&engine), &session, &inputs, 10, &options).unwrap();
    assert!(other.is_none());
    let Outcome::Skipped { because } = &verification.outcome else { panic!("{verification:?}") };
    assert!(because.contains("it does not run the model") && because.contains("no such operator"), "{because}");
}

/// Returns the outputs of a session's second run.
fn second_run(session: &Session, inputs: &[Tensor]) -> Vec<f32> {
    session.run(inputs, &[]).unwrap();
    floats(&session.run(inputs, &[]).unwrap()[0])
}

fn form(verification: &Verification) -> &str {
    match &verification.outcome {
        Outcome::Right { form, .. } => form,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plan_that_is_right_stays_and_its_kernels_are_known_by_their_values() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/digits_cnn.onnx");
    let session = Session::load(&path, Fidelity::Optimised, NonZeroUsize::MIN).unwrap();
    let inputs = [Tensor::from_f32(vec![1, 1, 8, 8], &[0.0; 64]).unwrap()];
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    let (verification, other) = verify(&session, &inputs, 10, &options).expect("the model runs");
    let sum: f32 = second_run(&other.unwrap_or(session), &inputs).iter().sum();
    assert!((sum - 1.0).abs() < 1e-4, "probabilities: {sum}");
    assert_eq!(form(&verification), "every rewrite");
    assert!(verification.wrong.is_empty());
    let softmax = verification.kernels.iter().find(|found| found.value == "probabilities");
    assert!(softmax.is_some_and(|found| found.same_order), "{:?}", verification.kernels);
}

#[test]
fn the_first_form_that_is_right_runs_and_the_wrong_ones_are_named_with_what_they_give() {
    let faults = [("every rewrite", Fault::Always), ("fewer rewrites", Fault::Refused)];
    let (verification, session, inputs) = verified(&faults, Verify::On);
    assert_eq!(form(&verification), "no rewrites");
    assert_eq!(second_run(&session, &inputs), [1.0; 4]);
    let [own, refused] = &verification.wrong[..] else { panic!("{:?}", verification.wrong) };
    assert_eq!((&*own.form, &*own.outputs[0].output), ("every rewrite", "y"));
    assert!((own.outputs[0].of_largest.unwrap() - 1.0).abs() < 1e-3, "twice the right output is off by all of it");
    assert!(refused.fails_with.as_ref().is_some_and(|reason| reason.contains("a rewrite failed")));
    let sentence = verification.sentence();
    assert!(sentence.contains("gives other outputs: y by 1.00 of its largest element"), "{sentence}");
    assert!(sentence.contains("it runs with no rewrites"), "{sentence}");
    let [own, refused, right] = &verification.details()[..] else { panic!("{:?}", verification.details()) };
    assert!(own.contains("every rewrite") && own.contains("y by 1.00"), "{own}");
    assert!(refused.contains("fewer rewrites does not run"), "{refused}");
    assert!(right.contains("no rewrites gives the outputs of the exact plan"), "{right}");
}

#[test]
fn a_plan_that_goes_wrong_only_from_the_second_run_on_is_found() {
    let (verification, session, inputs) = verified(&[("every rewrite", Fault::Later)], Verify::On);
    assert_eq!(verification.wrong.len(), 1);
    assert_eq!(second_run(&session, &inputs), [1.0; 4]);
}

#[test]
fn where_no_form_is_right_the_exact_plan_runs() {
    let faults = FORMS.map(|form| (form, Fault::Always));
    let (verification, session, inputs) = verified(&faults, Verify::On);
    assert_eq!(verification.wrong.len(), faults.len());
    assert_eq!(session.model().fidelity(), Fidelity::Exact);
    assert_eq!(second_run(&session, &inputs), [1.0; 4]);
}

#[test]
fn the_values_of_kernels_are_not_looked_at_where_the_engine_does_not_show_them() {
    for intermediates in [false, true] {
        let (session, _, inputs) = faulty_with(Capabilities { intermediates, ..Capabilities::default() }, &[]);
        let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
        let (verification, _) = verify(&session, &inputs, 10, &options).expect("the model runs");
        assert_eq!(form(&verification), "every rewrite");
        assert_eq!(!verification.kernels.is_empty(), intermediates, "{:?}", verification.kernels);
    }
}

#[test]
fn off_means_that_the_engines_own_plan_runs_whatever_it_gives() {
    let (session, _, inputs) = faulty(&[("every rewrite", Fault::Always)]);
    let options = VerifyOptions { when: Verify::Off, ..VerifyOptions::default() };
    assert!(verify(&session, &inputs, 1, &options).is_none());
}

#[test]
fn what_was_found_is_kept_for_the_model_and_the_shapes_and_looked_for_anew_when_asked() {
    let kept = tempfile::tempdir().unwrap();
    let (session, engine, inputs) = faulty(&[("every rewrite", Fault::Always)]);
    let loaded = || engine.loads();
    let options =
        |when| VerifyOptions { when, cache_directory: Some(kept.path().join("opscope")), ..VerifyOptions::default() };
    let (found, _) = verify(&session, &inputs, 1, &options(Verify::On)).unwrap();
    let before = loaded();
    let (again, other) = verify(&session, &inputs, 1, &options(Verify::Auto)).unwrap();
    assert_eq!(loaded(), before + 1, "only the session to run is loaded");
    assert!(again.kept_since.is_some());
    assert_eq!((form(&again), &again.wrong, &again.kernels), (form(&found), &found.wrong, &found.kernels));
    assert_eq!(second_run(&other.unwrap(), &inputs), [1.0; 4]);
    let larger = vec![Tensor::from_f32(vec![2, 4], &[0.0; 8]).unwrap()];
    assert!(verify(&session, &larger, 1, &options(Verify::On)).unwrap().0.kept_since.is_none());
    assert!(verify(&session, &inputs, 1, &options(Verify::On)).unwrap().0.kept_since.is_none());

    // Other elements may take another path through a kernel. The cache keeps the result for the last ones.
    let other = vec![Tensor::from_f32(vec![1, 4], &[f32::NAN, 1.0, 2.0, 3.0]).unwrap()];
    let is_kept = |inputs: &[Tensor]| {
        verify(&session, inputs, 1, &options(Verify::Auto)).is_some_and(|(found, _)| found.kept_since.is_some())
    };
    assert_eq!(
        [&inputs, &other, &other, &inputs, &inputs].map(|inputs| is_kept(inputs)),
        [true, false, true, false, true]
    );

    // A result of another version of the schema does not count.
    for file in std::fs::read_dir(kept.path().join("opscope")).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("opscope.verified/3"), "{text}");
        std::fs::write(path, text.replace("opscope.verified/3", "opscope.verified/2")).unwrap();
    }
    assert!(verify(&session, &inputs, 1, &options(Verify::Auto)).is_some_and(|(found, _)| found.kept_since.is_none()));

    // A truncated file does not count.
    for file in std::fs::read_dir(kept.path().join("opscope")).unwrap() {
        std::fs::write(file.unwrap().path(), "{").unwrap();
    }
    assert!(verify(&session, &inputs, 1, &options(Verify::Auto)).is_some_and(|(found, _)| found.kept_since.is_none()));
}

/// Returns what a kernel of a plan computes, by its operation.
type Compute = fn(&str, &[f32]) -> Vec<f32>;

/// Returns a graph of `x` minus 20, a Sigmoid of it, and the second half of that: values from 2e-9 to 6e-9.
fn saturated() -> Graph {
    let graph = GraphBuilder::new("saturated").input("x", &[8]).operator("shift", "Sub", &["x"], &["logits"]);
    let graph = graph.operator("sigmoid", "Sigmoid", &["logits"], &["p"]);
    graph.operator("half", "Slice", &["p"], &["y"]).output("y").build()
}

fn right(op: &str, x: &[f32]) -> Vec<f32> {
    match op {
        "Sub" => x.iter().map(|x| x - 20.0).collect(),
        "Add" => x.iter().map(|x| x + 1.0).collect(),
        "Sigmoid" => x.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(),
        "Softmax" => softmax(x, 4, 1),
        "Slice" => x[x.len() / 2..].to_vec(),
        "Tiny" => x.iter().map(|x| x * 1e-9).collect(),
        op => panic!("{op}"),
    }
}

/// Returns the Softmax over groups of `elements` elements, which are `apart` positions apart.
fn softmax(x: &[f32], elements: usize, apart: usize) -> Vec<f32> {
    let group = |index: usize| index / (elements * apart) * apart + index % apart;
    let sum = |wanted: usize| -> f32 {
        x.iter().enumerate().filter(|(index, _)| group(*index) == wanted).map(|(_, x)| x.exp()).sum()
    };
    x.iter().enumerate().map(|(index, x)| x.exp() / sum(group(index))).collect()
}

/// Verifies a model on an engine whose own plan computes something else than the exact one.
fn planted(graph: Graph, groups: &[&[&str]], shows_values: bool, wrong: Compute) -> Verification {
    let kernels = kernels(&graph, groups);
    planted_with(graph, kernels.clone(), kernels, shows_values, wrong)
}

fn planted_with(
    graph: Graph,
    exact: Arc<[Kernel]>,
    optimised: Arc<[Kernel]>,
    shows_values: bool,
    wrong: Compute,
) -> Verification {
    let engine = FakeEngine::new(&FORMS, move |graph, options| {
        let is_wrong = options.fidelity == Fidelity::Optimised
            && options.form.as_ref().is_some_and(|form| form.name() == FORMS[0]);
        let (compute, kernels) = if is_wrong { (wrong, &optimised) } else { (right as Compute, &exact) };
        Ok(FakePlan::new(graph, kernels.clone(), options.fidelity, move |kernel, inputs| {
            let elements = compute(&kernel.op, &floats(&inputs[0]));
            let shape =
                if elements.len() == inputs[0].elements() { inputs[0].shape().to_vec() } else { vec![elements.len()] };
            Ok(vec![Tensor::from_f32(shape, &elements).unwrap()])
        }))
    });
    let all = Capabilities { stop: true, intermediates: true, times: true, names: true, memory: true, skip: true };
    let engine = engine.with_capabilities(Capabilities { intermediates: shows_values, ..all });
    let options = LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN);
    let shape: Vec<usize> = vec![8];
    let inputs = [Tensor::from_f32(shape, &[0.1, 0.9, 0.3, 0.4, 0.8, 0.2, 0.7, 0.6]).unwrap()];
    let session = Session::with_engine(Arc::new(engine) as Arc<dyn Engine>, Arc::new(graph), &options).unwrap();
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    verify(&session, &inputs, 10, &options).expect("the model runs").0
}

const SATURATED: [&[&str]; 3] = [&["shift"], &["sigmoid"], &["half"]];

#[test]
fn what_an_approximated_sigmoid_rounds_near_zero_is_no_difference() {
    let approximated: Compute = |op, x| {
        let exact = right(op, x);
        if op == "Sigmoid" { exact.iter().map(|y| y + 4e-7).collect() } else { exact }
    };
    for shows_values in [true, false] {
        let verification = planted(saturated(), &SATURATED, shows_values, approximated);
        assert_eq!((form(&verification), verification.wrong.len()), ("every rewrite", 0), "{verification:?}");
        let Outcome::Right { outputs, largest_difference, .. } = &verification.outcome else { panic!() };
        assert!((largest_difference - 4e-7).abs() < 1e-8, "of what a Sigmoid can give: {largest_difference}");
        assert!(outputs[0].of_largest.unwrap() > 50.0, "{outputs:?}");
        assert!(verification.details().is_empty(), "only one plan was tried");
    }
    // The same values, which here do not come out of a bounded function.
    let graph = GraphBuilder::new("free").input("x", &[8]).operator("free", "Exp", &["x"], &["y"]).output("y").build();
    let free: Compute = |_, x| x.iter().map(|x| x * 1e-9 + 4e-7).collect();
    let verification = planted_right(graph, free);
    assert_eq!(verification.wrong.len(), 1, "{verification:?}");
}

/// Works like [`planted`], for a model whose only operator returns its input, scaled down.
fn planted_right(graph: Graph, wrong: Compute) -> Verification {
    let kernels = kernels(&graph, &[&["free"]]);
    let named: Arc<[Kernel]> =
        kernels.iter().map(|kernel| Kernel { op: "Tiny".to_owned(), ..kernel.clone() }).collect();
    planted_with(graph, named.clone(), named, true, wrong)
}

#[test]
fn wrong_rewrites_behind_a_bounded_function_are_found() {
    let sigmoid = || {
        let graph = GraphBuilder::new("sigmoid").input("x", &[8]).operator("shift", "Add", &["x"], &["logits"]);
        graph.operator("sigmoid", "Sigmoid", &["logits"], &["p"])
    };
    let groups: [&[&str]; 2] = [&["shift"], &["sigmoid"]];
    let shifted: Compute = |op, x| match op {
        "Sigmoid" => right(op, &x.iter().map(|x| x + 0.001).collect::<Vec<_>>()),
        op => right(op, x),
    };
    let scaled: Compute = |op, x| match op {
        "Sigmoid" => right(op, x).iter().map(|y| y * 1.001).collect(),
        op => right(op, x),
    };
    let earlier: Compute = |op, x| if op == "Slice" { x[x.len() / 2 - 1..x.len() - 1].to_vec() } else { right(op, x) };
    let other_axis: Compute = |op, x| if op == "Softmax" { softmax(x, 2, 4) } else { right(op, x) };
    let softmax_graph = GraphBuilder::new("softmax").input("x", &[8]).operator("softmax", "Softmax", &["x"], &["y"]);
    let sliced = sigmoid().operator("half", "Slice", &["p"], &["y"]).output("y").build();
    let groups_sliced: [&[&str]; 3] = [&["shift"], &["sigmoid"], &["half"]];
    let cases = [
        (sigmoid().output("p").build(), &groups[..], shifted),
        (sigmoid().output("p").build(), &groups[..], scaled),
        (sliced, &groups_sliced[..], earlier),
        (softmax_graph.output("y").build(), &[&["softmax"][..]][..], other_axis),
    ];
    for (number, (graph, groups, wrong)) in cases.into_iter().enumerate() {
        for shows_values in [true, false] {
            let verification = planted(graph.clone(), groups, shows_values, wrong);
            assert_eq!(verification.wrong.len(), 1, "case {number}: {verification:?}");
            assert_eq!(form(&verification), "fewer rewrites", "case {number}");
        }
    }
}

#[test]
fn a_sigmoid_that_is_nearly_zero_does_not_hide_wrong_logits() {
    let steeper: Compute = |op, x| match op {
        "Sub" => right(op, x).iter().map(|x| x * 1.5).collect(),
        op => right(op, x),
    };
    let verification = planted(saturated(), &SATURATED, true, steeper);
    assert_eq!(form(&verification), "fewer rewrites", "{verification:?}");
    let sentence = verification.sentence();
    assert!(sentence.contains("y (what sigmoid takes differs by 0.50 of its largest element)"), "{sentence}");
    let unseen = planted(saturated(), &SATURATED, false, steeper);
    assert_eq!(
        form(&unseen),
        "every rewrite",
        "an engine that does not show its values can only be judged by its outputs"
    );
}

#[test]
fn logits_in_another_order_are_the_same_logits() {
    let graph = saturated();
    let exact = kernels(&graph, &SATURATED);
    let logits = graph.value_named("logits").unwrap().id;
    let mut turned = exact.to_vec();
    (turned[0].outputs, turned[0].holds) = (vec![Vec::new()], vec![Some(logits)]);
    turned[1].inputs[0].value = None;
    let reversed: Compute = |op, x| {
        let mut elements = x.to_vec();
        match op {
            "Sub" => elements.reverse(),
            "Sigmoid" => elements.reverse(),
            _ => {}
        }
        right(op, &elements)
    };
    let verification = planted_with(graph, exact, turned.into(), true, reversed);
    assert_eq!((form(&verification), verification.wrong.len()), ("every rewrite", 0), "{verification:?}");
    let Outcome::Right { outputs, .. } = &verification.outcome else { panic!() };
    assert_eq!(outputs[0].taken, Some(0.0), "compared by their sizes");
}

#[test]
fn each_choice_has_its_name() {
    assert_eq!(Verify::ALL.map(Verify::name), ["auto", "on", "off"]);
    assert_eq!(Verify::ALL, [Verify::Auto, Verify::On, Verify::Off]);
}

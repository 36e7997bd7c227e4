"""`estimate`, `presets` and `schema`: what a plan needs, plans to start from, and what a plan may hold."""

import argparse

from gpuplanner.cli.columns import columns
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.estimate_text import estimate_lines
from gpuplanner.cli.figures_data import estimate_data
from gpuplanner.cli.plan_arguments import plan_of, with_machine
from gpuplanner.engine.advice import advice_for
from gpuplanner.messages import InputError, msg, nearest, shortened
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.plan_text import plan_to_text


def estimate(options: argparse.Namespace, context: Context) -> int:
    """Estimate a plan on the machine it names, or on the best of the catalog when it names none.

    Exit code 1 when the machine does not carry it: memory, software or a goal, or where that cannot be told.
    """
    asked = plan_of(options, context)
    chosen_for_you = asked.machine is None
    result = context.workspace.advised(context.workspace.estimate(with_machine(asked, context)))
    context.code = 0 if result.outcome.carries else 1
    if options.json:
        said = advice_for(result, context.workspace.catalog.rules)
        advice = [{"rule": rule.id, "verdict": rule.verdict} for rule in said]
        print_json(estimate_data(result, context.translator) | {"machine_chosen": chosen_for_you, "advice": advice})
    else:
        print("\n".join(estimate_lines(result, context, chosen_for_you, all_rules=options.all_rules)))
    return context.code


def presets(options: argparse.Namespace, context: Context) -> int:
    """List the presets, or print one as a plan to start from."""
    known = context.workspace.presets
    if options.name:
        if options.name not in known:
            name = shortened(options.name, 60)
            if near := nearest(options.name, known, 1):
                raise InputError(msg("cli.no_such_preset_near", name=name, near=near[0], known=", ".join(known)))
            raise InputError(msg("cli.no_such_preset", name=name, known=", ".join(known)))
        named = known[options.name].model_copy(update={"name": context.text(f"preset.{options.name}")})
        print(plan_to_text(named), end="")
    elif options.json:
        print_json({name: plan.model_dump(mode="json", exclude_defaults=True) for name, plan in known.items()})
    else:
        print("\n".join(columns([[name, context.text(f"preset.{name}")] for name in known])))
    return 0


def schema(_options: argparse.Namespace, _context: Context) -> int:
    """Print the JSON schema of a `.gpuplan` file."""
    print_json({"$schema": "https://json-schema.org/draft/2020-12/schema"} | Plan.model_json_schema())
    return 0

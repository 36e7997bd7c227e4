"""Each question: numbers worked out by hand, what is unknown, what cannot be asked, and where its inputs come from."""

import math

import pytest

from gpuplanner.engine.answers.day import SHARES, Day, Shape
from gpuplanner.engine.answers.energy import Energy
from gpuplanner.engine.answers.failures import Failures
from gpuplanner.engine.answers.job_cost import JobCost
from gpuplanner.engine.answers.linking import Linking
from gpuplanner.engine.answers.loading import Loading
from gpuplanner.engine.answers.slicing import Slicing
from gpuplanner.engine.answers.splitting import Splitting
from gpuplanner.figures import Certainty
from gpuplanner.messages import InputError
from gpuplanner.units import GB
from gpuplanner.workload.reads_data import Storage
from gpuplanner.workload.training import Framework

H100, A100, L40S, RTX4090 = (
    "nvidia-h100-sxm5-80gb",
    "nvidia-a100-sxm4-80gb",
    "nvidia-l40s",
    "nvidia-rtx-4090",
)


class TestLoading:
    def test_reading_is_bytes_over_the_typed_rate_and_the_start_a_sum(self, ask, server, by_line):
        question = Loading(Storage.LOCAL, 2 * GB, process_start_s=10.0, engine_start_s=20.0)
        found = by_line(ask(question, server(), gpu_id=H100))
        # 8.03 billion parameters in BF16
        assert found["load.weights"].value == pytest.approx(16.06e9, rel=0.01)
        assert found["load.read"].value == pytest.approx(8.03, rel=0.01)
        assert found["load.copy"].value == pytest.approx(16.06e9 / 63e9, rel=0.01)
        assert found["load.cold_start"].value == pytest.approx(30 + 8.03 + 0.255, rel=0.01)
        assert found["load.rate"].certainty is Certainty.USER

    @pytest.mark.parametrize("storage", Storage)
    def test_a_rate_that_is_not_typed_is_a_rule_with_a_range(self, ask, server, by_line, storage):
        answer = ask(Loading(storage), server(), gpu_id=H100)
        rate = by_line(answer)["load.rate"]
        assert rate.certainty is Certainty.RULE
        assert rate.low < rate.value < rate.high
        assert "answers.load.rule_rate" in {remark.id for remark in answer.remarks}

    def test_nodes_share_what_a_shared_storage_gives(self, ask, trainer, by_line):
        machine = {"instance_id": "aws/p5.48xlarge"}
        one, four = (by_line(ask(Loading(Storage.SHARED, 8e9), trainer(), nodes=n, **machine)) for n in (1, 4))
        assert (one["load.rate"].value, four["load.rate"].value) == (8e9, 2e9)
        own = by_line(ask(Loading(Storage.LOCAL, 8e9), trainer(), nodes=4, **machine))
        assert own["load.rate"].value == 8e9

    def test_a_file_that_each_process_reads_is_read_as_often(self, ask, server, by_line):
        asked = server(tensor_parallel=2), {"gpu_id": H100, "gpus": 2}
        once, twice = (by_line(ask(Loading(Storage.LOCAL, 1e9, readers=n), asked[0], **asked[1])) for n in (1, 2))
        assert "load.read_bytes" not in once
        assert twice["load.read_bytes"].value == 2 * once["load.weights"].value
        assert twice["load.read"].value == pytest.approx(2 * once["load.read"].value)

    def test_two_gpus_copy_half_each(self, ask, server, by_line):
        one, two = (
            by_line(ask(Loading(), server(tensor_parallel=n), gpu_id=H100, gpus=n))["load.copy"] for n in (1, 2)
        )
        assert two.value == pytest.approx(one.value / 2, rel=0.02)

    def test_training_has_no_server_to_start(self, ask, trainer, by_line):
        assert "load.cold_start" not in by_line(ask(Loading(), trainer(), gpu_id=H100, gpus=8))


class TestFailures:
    def test_interval_and_goodput_are_those_of_young(self, ask, trainer, by_line):
        between, stall, restart = 36_000.0, 20.0, 300.0
        question = Failures(stall_s=stall, between_failures_s=between, restart_s=restart, repair_s=36_000.0)
        found = by_line(ask(question, trainer(), gpu_id=H100, gpus=8))
        assert found["failures.interval"].value == pytest.approx(1200.0)  # (2 · 20 · 36,000)^0.5
        goodput = (1 - (600 + 300) / 36_000) / (1 + 20 / 1200)
        assert found["failures.goodput"].value == pytest.approx(goodput)
        job, whole = found["failures.job"].value, found["failures.whole_job"].value
        assert whole == pytest.approx(job / goodput)
        assert found["failures.lost"].value == pytest.approx(whole - job)
        assert found["failures.failures"].value == pytest.approx(whole / between)
        assert found["failures.spares"].value == 4  # Poisson of mean 1, 99 %

    @pytest.mark.parametrize(("gpus", "expected_s"), [(8, 47.7 * 86400), (1024, 8.94 * 3600)])
    def test_the_published_rate_of_failures(self, ask, trainer, by_line, gpus, expected_s):
        found = by_line(ask(Failures(), trainer(tokens=None), gpu_id=H100, gpus=gpus))
        assert found["failures.between"].value == pytest.approx(expected_s, rel=0.01)
        assert found["failures.between"].low < 0.6 * expected_s

    def test_a_job_of_unknown_length_is_named_unknown(self, ask, trainer, by_line):
        answer = ask(Failures(), trainer(tokens=None), gpu_id=H100, gpus=8)
        assert "failures.lost" not in by_line(answer)
        assert [one.id for one in answer.unknown] == ["answers.failures.job_unknown"]

    def test_a_job_that_may_never_get_ahead_has_no_end_rather_than_a_wrong_one(self, ask, trainer, by_line):
        answer = ask(Failures(between_failures_s=2000.0), trainer(), gpu_id=H100, gpus=8)
        assert by_line(answer)["failures.goodput"].low == 0
        assert "failures.whole_job" not in by_line(answer)
        assert [one.id for one in answer.unknown] == ["answers.failures.job_open"]

    def test_serving_is_refused_and_a_run_that_never_gets_ahead_is_said(self, ask, server, trainer):
        with pytest.raises(InputError, match="training_only"):
            ask(Failures(), server(), gpu_id=H100)
        with pytest.raises(InputError, match="never"):
            ask(Failures(between_failures_s=100.0, restart_s=600.0), trainer(), gpu_id=H100, gpus=8)


class TestEnergy:
    def test_meter_power_and_energy_by_hand(self, ask, server, by_line):
        answer = ask(Energy(pue=1.5, node_power_w=500.0, usd_per_kwh=0.2), server(), gpu_id=H100)
        found = by_line(answer)
        gpus, meter = found["energy.gpus"], found["energy.meter"]
        assert meter.value == pytest.approx((gpus.value + 500) * 1.5)
        month = found["energy.month"]
        assert month.value == pytest.approx(meter.value * 730 / 1000)
        assert found["energy.month_usd"].value == pytest.approx(month.value * 0.2)
        assert not answer.unknown
        assert gpus.low < gpus.value < gpus.high

    def test_what_is_not_typed_is_unknown_and_costs_are_none(self, ask, trainer, by_line):
        answer = ask(Energy(), trainer(), gpu_id=H100, gpus=8)
        found = by_line(answer)
        assert "energy.meter" not in found
        assert found["energy.job"].value > 0
        assert found["energy.job_usd"] is None
        assert len(answer.unknown) == 3


class TestCost:
    def test_every_part_by_hand(self, ask, server, by_line):
        question = JobCost(
            usd_per_hour=10.0,
            hours=100.0,
            idle_share=0.2,
            stored_bytes=1000 * GB,
            usd_per_gb_month=0.073,
            egress_bytes=50 * GB,
            usd_per_gb_out=0.1,
        )
        answer = ask(question, server(), gpu_id=H100)
        found = by_line(answer)
        assert found["cost.machines"].value == pytest.approx(1000)
        assert found["cost.idle"].value == pytest.approx(250)  # a fifth of 1,250 paid
        assert found["cost.storage"].value == pytest.approx(10)  # 73 USD a month, 100 of 730 hours
        assert found["cost.egress"].value == pytest.approx(5)
        assert found["cost.failures"] is None
        assert found["cost.known"].value == pytest.approx(1265)
        assert [one.id for one in answer.unknown] == ["answers.cost.unknown.failures"]

    def test_an_unknown_price_is_unknown_never_nothing(self, ask, trainer, by_line):
        with pytest.raises(InputError, match="nothing_known"):
            ask(JobCost(), trainer(), gpu_id=H100, gpus=8)
        answer = ask(JobCost(egress_bytes=0.0, usd_per_gb_month=0.1), trainer(), gpu_id=H100, gpus=8)
        found = by_line(answer)
        assert found["cost.machines"] is None
        assert found["cost.hourly"] is None
        assert found["cost.egress"].value == 0  # which was said
        assert {one.id.rpartition(".")[2] for one in answer.unknown} == {"machines", "failures", "idle"}

    def test_failures_cost_what_they_take_longer(self, ask, trainer, by_line):
        typed = Failures(stall_s=20.0, between_failures_s=36_000.0, restart_s=300.0)
        found = by_line(ask(JobCost(usd_per_hour=36.0, failures=typed), trainer(), gpu_id=H100, gpus=8))
        whole = found["cost.duration"].value / 3600 * 36.0
        assert found["cost.machines"].value + found["cost.failures"].value == pytest.approx(whole)
        assert found["cost.failures"].value > 0


class TestLinking:
    def test_tensor_parallelism_needs_its_link(self, ask, server, by_line):
        answer = ask(Linking(), server(tensor_parallel=8, concurrency=16), gpu_id=H100, gpus=8)
        found = by_line(answer)
        with_link, without = answer.table.rows[:2]
        column = answer.table.columns.index("tpot_s") - 1
        assert found["nvlink.tpot_s"].value == pytest.approx(
            without.cells[column].value - with_link.cells[column].value
        )
        assert found["nvlink.tpot_s"].value > 0
        assert any(remark.id == "answers.nvlink.part" for remark in answer.remarks)
        request = answer.table.columns.index("request_s") - 1
        share = without.cells[request].value / with_link.cells[request].value - 1
        assert found["nvlink.share"].value == pytest.approx(share)

    def test_replicas_of_one_gpu_do_not_care(self, ask, server, by_line):
        answer = ask(Linking(), server(tensor_parallel=1), gpu_id=H100, gpus=8)
        assert answer.says.id == "answers.nvlink.hardly"
        assert by_line(answer)["nvlink.share"].value == 0
        assert "answers.nvlink.nothing_exchanged" in {remark.id for remark in answer.remarks}

    def test_training_says_which_collectives(self, ask, trainer, by_line):
        answer = ask(Linking(), trainer(framework=Framework.FSDP), gpu_id=H100, gpus=8)
        assert by_line(answer)["nvlink.step_s"].value > 0
        assert "answers.collective.gather" in {
            remark.values["what"].id for remark in answer.remarks if "what" in remark.values
        }

    def test_a_gpu_alone_and_one_without_a_link(self, ask, server):
        assert ask(Linking(), server(), gpu_id=H100).says.id == "answers.nvlink.one_gpu"
        answer = ask(Linking(), server(tensor_parallel=2), gpu_id=RTX4090, gpus=2)
        assert answer.says.id == "answers.nvlink.none_on_gpu"
        assert answer.lines[0].figure.value > 0


class TestDay:
    def test_replicas_follow_from_the_capacity_hour_by_hour(self, ask, server, by_line):
        rates = (1.0,) * 12 + (30.0,) * 12
        answer = ask(Day(rates=rates, usd_per_hour=2.0, start_s=1800.0), server(tpot_goal_s=0.05), gpu_id=L40S)
        found = by_line(answer)
        one = found["day.capacity"].value
        few, many = math.ceil(1 / one), math.ceil(30 / one)
        assert [row.cells[1].value for row in answer.table.rows] == [few, many]
        assert found["day.fixed_hours"].value == 24 * many
        elastic = 12 * few + 12 * many + (many - few) * 0.5  # one rise a day, started half an hour before
        assert found["day.elastic_hours"].value == pytest.approx(elastic)
        assert found["day.saved"].value == pytest.approx(1 - elastic / (24 * many))
        assert found["day.fixed_usd_day"].value == 48 * many
        assert found["day.elastic_usd_month"].value == pytest.approx(elastic * 2 * 730 / 24)

    def test_at_its_capacity_a_replica_keeps_the_goals_and_just_beyond_it_does_not(self, ask, server, by_line):
        goal = {"tpot_goal_s": 0.04, "ttft_goal_s": 1.0}
        one = by_line(ask(Day(peak=5.0), server(**goal), gpu_id=L40S))["day.capacity"]
        assert one.low < one.value < one.high
        looser = by_line(ask(Day(peak=5.0), server(tpot_goal_s=0.08, ttft_goal_s=1.0), gpu_id=L40S))["day.capacity"]
        assert looser.value > one.value

    def test_a_flat_day_saves_nothing(self, ask, server):
        answer = ask(Day(peak=10.0, shape=Shape.FLAT), server(), gpu_id=L40S)
        assert answer.says.id == "answers.day.says_nothing"
        assert answer.unknown

    def test_what_cannot_be_asked(self, ask, server, trainer):
        for question, workload, problem in (
            (Day(), server(), "no_rates"),
            (Day(rates=(1.0, 2.0)), server(), "not_24"),
            (Day(rates=(0.0,) * 24), server(), "no_load"),
            (Day(peak=1.0), server(tpot_goal_s=1e-6), "no_capacity"),
            (Day(peak=1.0), trainer(), "serving_only"),
        ):
            with pytest.raises(InputError, match=problem):
                ask(question, workload, gpu_id=L40S)

    @pytest.mark.parametrize("shape", Shape)
    def test_a_shape_has_24_shares_of_its_busiest_hour(self, shape):
        assert len(SHARES[shape]) == 24
        assert max(SHARES[shape]) == 1
        assert min(SHARES[shape]) > 0


class TestSplitting:
    def test_every_split_of_a_node_and_the_best_for_the_money(self, ask, server):
        answer = ask(Splitting(usd_per_hour=8.0), server(), gpu_id=L40S, gpus=8)
        rows = {(row.name.values["replicas"], row.name.values["degree"]): row for row in answer.table.rows}
        assert set(rows) == {(8, 1), (4, 2), (2, 4), (1, 8)}
        capacity, price = (answer.table.columns.index(name) - 1 for name in ("capacity", "usd_at_capacity"))
        best = next(row for row in answer.table.rows if row.best)
        assert best.cells[capacity].value == max(row.cells[capacity].value for row in rows.values())
        assert best.cells[price].value == min(row.cells[price].value for row in rows.values())
        tokens = best.cells[capacity].value * 200
        assert best.cells[price].value == pytest.approx(8.0 / 3600 / tokens * 1e6)

    def test_what_does_not_fit_on_few_gpus_is_not_chosen(self, ask, server):
        answer = ask(Splitting(), server(model="meta-llama/Meta-Llama-3.1-70B"), gpu_id=H100, gpus=8)
        one = answer.table.rows[0]
        assert not one.best
        assert one.cells[-2] is None
        assert answer.good

    def test_one_gpu_cannot_be_split(self, ask, server):
        with pytest.raises(InputError, match="one_gpu"):
            ask(Splitting(), server(), gpu_id=L40S)


class TestSlicing:
    @pytest.fixture
    def slices(self, shipped_catalog):
        from gpuplanner.catalog.names import names_of

        names = names_of(shipped_catalog)
        return lambda gpu, **more: Slicing(names.mig_profiles(gpu), names.vgpu_boards(gpu), **more)

    def test_the_smallest_mig_slice_that_carries_the_plan(self, ask, server, slices, by_line):
        answer = ask(slices(A100, usd_per_hour=2.0), server(concurrency=4), gpu_id=A100)
        best = next(row for row in answer.table.rows if row.best)
        assert best.name.id == "answers.slice.mig"
        # 16 GB of weights: 1g.10gb cannot hold them
        assert best.name.values["profile"] != "1g.10gb"
        count = best.cells[3].value
        assert best.cells[4].value == pytest.approx(1 / count)
        assert best.cells[5].value == pytest.approx(2 / count)
        assert by_line(answer)["slice.needed"].value < by_line(answer)["slice.usable"].value

    def test_per_gpu_counts_are_those_of_the_guide(self, ask, server, slices):
        answer = ask(slices(A100), server(), gpu_id=A100)
        counts = {row.name.values["profile"]: row.cells[3].value for row in answer.table.rows if "mig" in row.name.id}
        assert counts == {
            "1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1,
        }  # fmt: skip

    def test_vgpu_where_there_is_no_mig_and_neither_on_a_gaming_card(self, ask, server, slices):
        answer = ask(slices(L40S), server(), gpu_id=L40S)
        assert {row.name.id for row in answer.table.rows} == {"answers.slice.vgpu"}
        assert any("L40S-24C" in row.name.values["profile"] for row in answer.table.rows)
        with pytest.raises(InputError, match="cannot"):
            ask(slices(RTX4090), server(), gpu_id=RTX4090)

    def test_what_no_slice_carries(self, ask, server, slices):
        answer = ask(slices(A100), server(model="meta-llama/Meta-Llama-3.1-70B"), gpu_id=A100)
        assert not answer.good
        assert answer.says.id == "answers.slice.none"

"""The vocabulary of the formulas: what unit each term has. The same name means the same thing in every formula.

Texts: message `term.<name>`.
"""

from collections.abc import Mapping

from gpuplanner.units import Unit

_NAMES: Mapping[Unit, str] = {
    Unit.BYTE: """
        activation_bytes adapter_bytes adapter_element_bytes attention_activation_bytes attention_bytes backward_bytes
        base_bytes beside_bytes bytes_over_pcie bytes_per_activation bytes_per_bucket_parameter bytes_per_cast
        bytes_per_copy bytes_per_end bytes_per_gathered bytes_per_gradient bytes_per_item bytes_per_logit
        bytes_per_pixel bytes_per_quantised bytes_per_score bytes_per_state bytes_per_stored_token bytes_per_trained
        bytes_per_weight cache_bytes cache_element_bytes cast_copy_bytes cast_moved_bytes cast_traffic checkpoint_bytes
        checkpoint_bytes_per_parameter communicator_bytes compiled_bytes context_bytes copied_bytes cross_bytes
        data_bytes dequantised_bytes dequantised_traffic dispatched_bytes drafter_bytes drafter_cache_bytes eager_bytes
        edge_bytes egress_bytes element_bytes embedding_bytes expert_bytes face_bytes fetched_bytes fixed_bytes
        forward_bytes gathered_bytes graph_bytes graph_layer_bytes head_bytes held_bytes held_bytes_per_activation
        held_gradient_bytes index_bytes item_bytes kept_activation_bytes kept_bytes kept_layer_bytes
        layer_activation_bytes layer_bytes layer_state_bytes live_bytes load_bytes loading_bytes logit_bytes
        logit_loss_bytes loss_moved_bytes lost_bytes memory_bytes mlp_activation_bytes mlp_bytes moved_bytes
        needed_bytes network_share_bytes offload_bytes offload_bytes_per_parameter optimizer_state_bytes
        other_kinds_bytes overhead_bytes page_bytes pair_bytes part_bytes payload_bytes peer_bytes pinned_bytes
        pixel_bytes pool_bytes problem_bytes process_bytes read_bytes read_weight_bytes reduce_bucket_bytes reduce_bytes
        reference_bytes reserved_bytes rollout_held_bytes routed_traffic_bytes runtime_bytes sampling_bytes scene_bytes
        score_bytes scores_bytes sequence_bytes server_weight_bytes session_bytes split_bytes split_traffic_bytes
        state_bytes step_bytes_per_parameter stored_bytes system_bytes system_disk_bytes tensor_bytes text_bytes
        tower_bytes trained_bytes trained_weight_bytes update_bytes update_copy_bytes usable_bytes weight_bytes
        weight_bytes_over_pcie weight_file_bytes whole_bytes whole_traffic_bytes working_bytes
    """,
    Unit.BYTE_PER_S: """
        decoded_bytes_per_core_s hbm_bytes_per_s host_memory_bytes_per_s link_bytes_per_s network_bytes_per_s
        node_network_bytes_per_s pcie_bytes_per_s storage_bytes_per_s
    """,
    Unit.BYTE_PER_TOKEN: """
        bytes_per_token inner_bytes_per_token layer_bytes_per_token residual_bytes_per_token
    """,
    Unit.FLOP: """
        attention_matrix_flops expert_flops flops flops_per_element flops_per_item flops_per_pair flops_per_token
        flops_per_value head_flops mlp_flops other_kinds_flops pair_flops token_attention_flops windowed_pair_flops
    """,
    Unit.FLOP_PER_S: """
        feeding_flop_per_s flop_per_s fp32_flop_per_s host_flop_per_s known_fp32_flop_per_s
    """,
    Unit.SECOND: """
        advance_s all_reduce_s all_to_all_s attention_s audio_s backward_s between_failures_s between_s busy_s
        checkpoint_s communication_s compute_s computed_step_s context_s copy_s cycle_s data_read_s data_wait_s dense_s
        dequantise_s dispatch_s drafter_s drafting_s duration_s elementwise_s encode_s ends_s engine_s engine_start_s
        exchange_s expert_launch_s expert_s experts_s fetch_s first_token_s fixed_frame_s floor_s forward_s gather_s
        gpu_seconds_between_failures group_reduce_s hand_over_s hidden_s hop_s host_layers_s host_s interval_s
        item_step_s job_s kernel_s known_frame_s latency_s launch_s launch_s_per_layer layer_s layers_s limited_s link_s
        load_goal_s load_s lookup_s matrices_s matrix_s memory_s micro_batch_compute_s micro_batch_s moe_layer_s
        multiply_s network_latency_s network_s network_send_s offload_s optimizer_s other_s overhead_s own_group_s
        own_pass_s own_s part_s pass_s pipelined_s prefill_s prefill_share_s prepare_wait_s process_start_s
        prompt_layer_s prompt_moe_layer_s prompt_turn_s prompt_wait_s quick_s read_s read_wait_s reduce_s repair_s
        replica_reduce_s request_s rest_of_step_s restart_s rollout_s scheduler_s scores_s send_s sequence_s slow_s
        stall_goal_s start_s step_cache_s step_host_s step_multiply_s step_read_s step_s step_time_s tensor_s token_s
        traced_s training_step_s transfer_s verify_s waiting_s weights_read_s whole_job_s whole_s window_s wire_s work_s
    """,
    Unit.HOUR: """
        hours_per_month
    """,
    Unit.WATT: """
        facility_w full_clock_w machine_w node_power_w power_limit_w power_w
    """,
    Unit.KILOWATT_HOUR: """
        energy_kwh
    """,
    Unit.TOKEN: """
        attended_tokens batched_tokens block_tokens completion_tokens draft_tokens earlier_tokens engine_tokens
        expert_padding_tokens input_tokens job_tokens length loss_chunk_tokens max_batched_tokens new_tokens
        output_tokens padding_tokens page_tokens prefix_tokens prompt_tokens sequence_length text_tokens tokens
        tokens_per_step window windowed_tokens
    """,
    Unit.TOKEN_PER_S: """
        engine_tokens_per_s tokens_per_audio_s tokens_per_core_s tokens_per_s
    """,
    Unit.REQUEST_PER_S: """
        capacity_per_s engine_requests_per_s read_requests_per_s request_per_s
    """,
    Unit.PER_S: """
        cropped_per_core_s engine_pixels_per_s frames_per_s items_per_core_s items_per_s pixels_per_s
        video_s_per_s_per_gpu
    """,
    Unit.COUNT: """
        activations adapted_width adapted_widths ahead all_heads attending_positions attention_groups attention_heads
        attention_ranks attention_widths audio_frames backward_passes balance_steps base_shards batch_samples batches
        beams block_elements block_rows cache_copies cache_elements cache_shards channels checkpoints_kept columns
        compiled computes_on_host concurrency context_exchanges context_parallel convoy_prompts copies cores
        cores_beside cores_per_rank counts_activations cross_widths currency_per_usd data_parallel decode_workers
        decoder_layers dense_copies dense_shards depth dispatch_width dispatches drafter_layers drafter_passes
        elastic_hours elements encoder_layers epochs expert_parallel expert_shards expert_tensor experts
        experts_per_token extra_blocks fetches fixed_hours frame_gpus frame_pixels frame_spread frames frames_per_latent
        gathers global_batch gpus gpus_per_node group_reduces groups growth guided head_dim heads height_pixels
        held_per_element held_per_value hidden image_activations image_macs image_px images in_flight index_head_dim
        index_heads inner inner_width inputs intermediate items items_per_step kept_elements kernels kernels_per_layer
        key_width known_score kv_heads latent_frames latent_pixels latent_rank latent_scale layer_adapted
        layer_collectives layer_heads layers layers_at_gmac least_replicas live_elements live_tensors loaded lora_rank
        loss_passes macs macs_per_activation matrices max_sequences members members_per_node messages micro_batch
        micro_batches moe_layers moves_per_element moves_per_value network_px network_sends node_items nodes nope_dim
        nvdec nvenc offload_copies on_gpu outputs padding_columns padding_positions page_layers pages_per_state
        passed_elements passes persistent_gradients pipeline_parallel pixels pool_gpus positions prefetched
        prefill_workers pue query_rank ranks readers reading_nodes recomputed recomputed_passes recurrent_groups reduces
        reference_passes relative_speed renditions repeated replica_hours replica_sequences replicas request_pages
        residual_copies residual_shards ring_passes rollout_ranks rotary_dim rows samples saved_copies saved_elements
        score score_copies scores_kept sequences sequences_in_pool sequences_per_sample server_cores sessions shares
        shares_step slices spare_layers stage_layers stages_overlap state_dim state_groups state_heads state_shards
        static_batches steps surfaces takes_whole_pool tensor_parallel threads_per_core tiled_height_pixels
        tiled_width_pixels time_step_rank together transforms tried unread_width value_head_dim value_width values_each
        vcpus virtual_pipeline vocabulary waiting_nodes wave_elements weights_are_sharded whole_streams width_pixels
        windows worker_processes workspace_copies
    """,
    Unit.PARAMETER: """
        active_parameters all_expert_parameters attention_parameters bucket_parameters codec_parameters cross_parameters
        decoder_parameters denoiser_parameters dense_parameters encoder_parameters end_parameters expert_parameters
        gathered_layer_parameters host_parameters_per_s largest_matrix_parameters layer_active_parameters
        layer_parameters mlp_parameters norm_parameters parameters plain_parameters position_weights
        quantised_parameters shared_parameters stepped_parameters text_encoder_parameters text_weights
        trained_parameters unquantised_parameters
    """,
    Unit.BIT: """
        bits_per_element bits_per_weight
    """,
    Unit.RATIO: """
        acceptance_rate activation_power activations_growth backward_cost burst_share cast_share compute_factor
        compute_part compute_power_share compute_time_share copied_share counted_share depth_factor deviations
        drawn_power_share efficiency effort_factor engine_share exposed_share fp32_exponent free_share full_pass_cost
        full_recomputation full_share goodput gpu_fraction grid_density hbm_efficiency hbm_power_share hbm_share
        hbm_time_share held_share held_width hidden_share host_memory_share host_share idle_share kept_share
        known_tracing_factor layer_growth layer_share length_share live_share longest_factor lost_share macs_growth
        memory_part memory_share mixed_share network_efficiency of_stream overlap_loss own_factor own_rate_factor
        pass_share passed_share pcie_efficiency pooling_factor power_exponent prefill_load recomputed_attention
        recomputed_share reserve_share rollout_share saved_share scaling_share sharded_lost_share slice_share span_share
        spared_share text_held_share tracing_factor trained_share trained_to_eager usable_share utilisation
        waiting_power_share wanted_share width_factor
    """,
    Unit.MONEY: """
        part_usd usd_per_day usd_per_gb_month usd_per_gb_out usd_per_kwh
    """,
    Unit.MONEY_PER_HOUR: """
        price_per_hour usd_per_hour
    """,
}
"""The terms of each unit, in the order of the alphabet."""
TERM_UNITS: Mapping[str, Unit] = {name: unit for unit, names in _NAMES.items() for name in names.split()}

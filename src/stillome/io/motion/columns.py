"""What every column of motion means, depending on whose file it comes from."""

# For each column the sources it may come from, the best first, and what it then means.
MEASURES: dict[str, dict[str, str]] = {
    "rms_mm": {
        "table": "as given in the table",
        "eddy_movement_rms": "mean displacement to the previous volume, volumes 2 to N "
        "(column 2 of eddy_movement_rms)",
        "eddy_quad": "qc_mot_rel of eddy_quad, rounded to 2 decimals",
        "mcflirt_rms": "mean displacement to the previous volume (MCFLIRT's _rel.rms)",
    },
    "rms_absolute_mm": {
        "table": "as given in the table",
        "eddy_movement_rms": "mean displacement to the reference (column 1 of eddy_movement_rms)",
        "eddy_quad": "qc_mot_abs of eddy_quad, rounded to 2 decimals",
        "mcflirt_absolute_rms": "mean displacement to the reference (MCFLIRT's _abs.rms)",
    },
    "rms_restricted_mm": {
        "table": "as given in the table",
        "eddy_restricted_movement_rms": "as rms_mm, without translation along phase encoding",
    },
    "translation_mm": {
        "table": "as given in the table",
        "flirt": "residual misalignment: mean ‖t‖ of the b=0 frames (FLIRT matrices)",
        "itk": "residual misalignment: mean ‖t‖ of the frames (ITK transforms)",
        "mcflirt_matrices": "mean ‖t‖ of the frames (MCFLIRT matrices)",
        "mcflirt_parameters": "mean ‖t‖ to the reference (MCFLIRT's .par)",
        "eddy_parameters": "mean ‖t‖ to the reference (eddy_parameters)",
        "qsiprep_confounds": "mean ‖t‖ to the reference (QSIPrep confounds)",
        "abcd": "mean translation in the ABCD table",
    },
    "rotation_rad": {
        "table": "as given in the table",
        "flirt": "residual misalignment: mean ‖log R‖ of the b=0 frames (FLIRT matrices)",
        "itk": "residual misalignment: mean ‖log R‖ of the frames (ITK transforms)",
        "mcflirt_matrices": "mean ‖log R‖ of the frames (MCFLIRT matrices)",
        "mcflirt_parameters": "mean ‖log R‖ to the reference (MCFLIRT's .par)",
        "eddy_parameters": "mean ‖log R‖ to the reference (eddy_parameters)",
        "qsiprep_confounds": "mean ‖log R‖ to the reference (QSIPrep confounds)",
        "abcd": "mean rotation in the ABCD table",
    },
    "fd_mm": {
        "table": "as given in the table",
        "qsiprep_confounds": "mean framewise displacement (QSIPrep confounds)",
        "image_qc": "mean_fd of QSIPrep's image quality",
        "eddy_parameters": "mean framewise displacement, 50 mm (eddy_parameters)",
        "mcflirt_parameters": "mean framewise displacement, 50 mm (MCFLIRT's .par)",
        "abcd": "mean framewise displacement in the ABCD table",
    },
    "n_outlier_slices": {
        "table": "as given in the table",
        "eddy_outlier_report": "lines of eddy_outlier_report",
        "eddy_outlier_map": "slices marked in eddy_outlier_map",
    },
    "outliers_percent": {
        "table": "as given in the table",
        "eddy_quad": "qc_outliers_tot of eddy_quad, percent of slices",
    },
}
